#!/usr/bin/env node
'use strict';
require('./svc.cjs').runProgram('svc-sandbox');
