// Stands in for the HTTP client of a package that is given ours: `svc` has one way to the network.
module.exports = () => {
  throw new Error('a package asked for a connection of its own');
};
