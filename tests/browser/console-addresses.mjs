// Signs in, decides and undoes the decision over plain HTTP at an address other than loopback, and over HTTPS through a
// proxy. At an address that `--base-url` does not name, the sign-in must be refused with a page that names both
// addresses.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';

import { violations } from './accessible.mjs';
import { launch, screenshot, visitor } from './browser.mjs';
import { serve } from './service.mjs';

/// Returns a port that is free now.
async function freePort() {
  const server = createServer().listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/// Starts a service with the sample company. Returns its process and the link to its console.
async function serveDemo(name, listen, baseUrl) {
  const { service, printed } = await serve(['--demo', '--db', `${name}.db`, '--listen', listen, '--base-url', baseUrl]);
  return { service, link: await printed('console: ') };
}

/// Signs in with the link and saves the preferences. Returns the status of the last answer.
async function signInAndSave(page, link) {
  await page.goto(link);
  let answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.locator('main form button').first().click();
  if ((await answer).status() >= 400) {
    return (await answer).status();
  }
  await page.waitForURL(/\/app$/);
  await page.goto(new URL('/app/me', page.url()).href);
  await page.locator('[name=language]').selectOption('de');
  answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.locator('form[action="/app/me/preferences"] button').click();
  const status = (await answer).status();
  await page.waitForLoadState();
  return status;
}

/// Rejects the first candidate of the review queue, and undoes the rejection.
async function decideAndUndo(page, name, fault) {
  await page.goto(new URL('/app', page.url()).href);
  await page.locator('main a[href*="/review"]').first().click();
  await page.waitForURL(/\/review/);
  const candidate = await page.locator('h1').innerText();
  await page.locator('summary[id^=reject-]').click();
  await page.locator('details[open] input[name=reason]').first().check();
  await page.locator('details[open] button.no').click();
  const undo = page.locator('form[action$="/undo"]');
  await undo.locator('button').click();
  await undo.waitFor({ state: 'detached' });
  await page.locator('h1', { hasText: candidate }).waitFor();
  const text = await page.locator('body').innerText();
  if (!text.includes(candidate)) {
    fault(`${name}: after the undo, the page does not show ${candidate}: ${text}`);
  }
}

/// Decides with JavaScript, and then without it.
async function decide(page, name, fault) {
  await decideAndUndo(page, name, fault);
  const storageState = await page.context().storageState();
  const withoutScript = await page.context().browser().newContext({ storageState, javaScriptEnabled: false, ignoreHTTPSErrors: true });
  const other = await withoutScript.newPage();
  await other.goto(page.url());
  await decideAndUndo(other, `${name}, without JavaScript`, fault);
  await withoutScript.close();
}

/// Starts a proxy that terminates TLS on `port` and forwards to `target`.
function proxy(port, target) {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', 'tls.key', '-out', 'tls.crt'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject, ...files], { stdio: 'ignore' });
  const options = { key: readFileSync('tls.key'), cert: readFileSync('tls.crt') };
  return https.createServer(options, (request, response) => {
    const headers = { ...request.headers, 'x-forwarded-for': request.socket.remoteAddress };
    const forwarded = http.request(target + request.url, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  }).listen(port, '127.0.0.1');
}

async function inNewBrowser(fault, address, origins, work) {
  const browser = await launch([address]);
  // On plain HTTP, Chromium logs that it ignores `Cross-Origin-Opener-Policy`. The field protects the pages on HTTPS.
  const unlessIgnored = (message) => message.includes('Cross-Origin-Opener-Policy header has been ignored') || fault(message);
  const context = await visitor(browser, unlessIgnored, { origins, ignoreHTTPSErrors: true });
  try {
    await work(await context.newPage());
  } finally {
    await browser.close();
  }
}

export async function check(browser, company, fault) {
  const address = Object.values(networkInterfaces()).flat().find((one) => one.family === 'IPv4' && !one.internal)?.address;
  if (address === undefined) {
    fault('this machine has no IPv4 address besides loopback');
    return;
  }
  const [plain, wrong, secure, behind] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);

  const onAddress = await serveDemo('plain', `0.0.0.0:${plain}`, `http://${address}:${plain}`);
  await inNewBrowser(fault, address, [`http://${address}:${plain}`], async (page) => {
    const status = await signInAndSave(page, onAddress.link);
    if (status !== 303) {
      fault(`plain HTTP at ${address}: the form was answered with ${status}`);
    }
    await screenshot(page, 'console-plain-http');
    await decide(page, `plain HTTP at ${address}`, fault);
  });
  onAddress.service.kill();

  const elsewhere = await serveDemo('wrong', `0.0.0.0:${wrong}`, 'https://jobs.example.com');
  await inNewBrowser(fault, address, [`http://${address}:${wrong}`], async (page) => {
    const opened = `http://${address}:${wrong}`;
    const status = await signInAndSave(page, elsewhere.link.replace('https://jobs.example.com', opened));
    const text = await page.locator('body').innerText();
    if (status !== 403 || !text.includes(opened) || !text.includes('https://jobs.example.com')) {
      fault(`a wrong --base-url: expected 403 and a page that names both addresses, got ${status}: ${text}`);
    }
    (await violations(page)).forEach((violation) => fault(`a wrong --base-url: ${violation}`));
    await screenshot(page, 'console-wrong-base-url');
  });
  elsewhere.service.kill();

  const hidden = await serveDemo('secure', `127.0.0.1:${behind}`, `https://localhost:${secure}`);
  const ended = proxy(secure, `http://127.0.0.1:${behind}`);
  await inNewBrowser(fault, 'localhost', [`https://localhost:${secure}`], async (page) => {
    const status = await signInAndSave(page, hidden.link);
    if (status !== 303) {
      fault(`behind a TLS proxy: the form was answered with ${status}`);
    }
    const cookies = await page.context().cookies();
    if (!cookies.some(({ name, secure, httpOnly }) => name.startsWith('__Host-') && secure && httpOnly)) {
      fault(`behind a TLS proxy: the cookies are ${JSON.stringify(cookies)}`);
    }
    await decide(page, 'behind a TLS proxy', fault);
  });
  ended.close();
  ended.closeAllConnections();
  hidden.service.kill();
  console.log(`  plain HTTP at ${address}, a wrong --base-url, and HTTPS through a proxy`);
}
