// Services that a part starts for itself.

import { execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

/// Runs a command of the program and returns what it prints.
export async function run(...args) {
  const { stdout } = await promisify(execFile)(process.env.PROGRAM, args, { maxBuffer: 1 << 28 });
  return stdout.trim();
}

/// Starts a service and waits until it listens. `printed` waits for the line of standard output that begins with the
/// given label, and returns the rest of that line.
export async function serve(args) {
  const service = spawn(process.env.PROGRAM, ['serve', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = [];
  const waiting = [];
  createInterface({ input: service.stdout }).on('line', (line) => {
    lines.push(line);
    waiting.splice(0).forEach((look) => look());
  });
  const printed = (label) => new Promise((resolve) => {
    const look = () => {
      const line = lines.find((one) => one.startsWith(label));
      return line === undefined ? waiting.push(look) : resolve(line.slice(label.length));
    };
    look();
  });
  const base = await new Promise((resolve, reject) => {
    service.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    const said = 'listening on ';
    createInterface({ input: service.stderr }).on('line', (line) => line.startsWith(said) && resolve(line.slice(said.length)));
  });
  return { service, base, printed };
}
