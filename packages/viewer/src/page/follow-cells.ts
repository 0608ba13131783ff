/** Has each component drawn again when a cell that it read changes: none has to say which it reads, so none can forget one. */

import {
  Component,
  type ComponentChildren,
  type ComponentClass,
  type ComponentType,
  Fragment,
  type FunctionComponent,
  options,
} from 'preact';

import { watch } from '../store/cell.ts';

type Props = object;

/** What draws in the place of each function. A component that is drawn again is its own. */
const followers = new WeakMap<ComponentType<Props>, ComponentClass<Props>>();

/** From now on, of every function that is used as an element. */
export function followCells(): void {
  options.vnode = (element) => {
    if (typeof element.type !== 'function' || element.type === Fragment) return;
    const type = element.type as FunctionComponent<Props>;
    const follower = followers.get(type) ?? followerOf(type);
    followers.set(type, follower).set(follower, follower);
    element.type = follower as typeof element.type;
  };
}

function followerOf(draw: FunctionComponent<Props>): ComponentClass<Props> {
  return class extends Component<Props> {
    #stop = (): void => {};

    override render(props: Props): ComponentChildren {
      this.#stop();
      const { value, stop } = watch(
        () => draw(props),
        () => this.forceUpdate(),
      );
      this.#stop = stop;
      return value;
    }

    override componentWillUnmount(): void {
      this.#stop();
    }
  };
}
