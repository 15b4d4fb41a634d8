// embed.js on a page of another origin: the list, a portal without roles, a hostile name, and an unavailable service.
// The script must set no cookies.

import { createServer } from 'node:http';

import { base } from './company.mjs';
import { screenshot, visitor } from './browser.mjs';
import { violations } from './accessible.mjs';

export async function check(browser, { acme, empty, hostile, trap }, fault) {
  const site = createServer((request, response) => {
    const slug = new URL(request.url, 'http://site').searchParams.get('slug');
    // A strict site: its policy allows only what the script needs.
    const policy = `default-src 'none'; script-src ${base}; connect-src ${base}; img-src 'self' data:`;
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><html lang="en"><head><title>Site</title><link rel="icon" href="data:,"></head>
      <body><main><h1>Work with us</h1><div id="jobs"></div></main>
      <script src="${base}/careers/${slug}/embed.js" data-target="jobs" async></script></body></html>`);
  });
  await new Promise((done) => site.listen(0, '127.0.0.1', done));
  const origin = `http://localhost:${site.address().port}`;
  const context = await visitor(browser, fault, { origins: [base, origin] });
  context.on('request', async (request) => {
    const { cookie, authorization } = await request.allHeaders().catch(() => ({}));
    if (cookie !== undefined || authorization !== undefined) {
      fault(`the request for ${request.url()} contains the credential ${cookie ?? authorization}`);
    }
  });
  const page = await context.newPage();
  const roles = page.locator('#jobs').getByRole('listitem');
  const inspect = async (name) => {
    for (const violation of await violations(page)) {
      fault(`${name}: ${violation}`);
    }
    await screenshot(page, `embed-${name}`);
  };

  await page.goto(`${origin}/?slug=${acme.slug}`);
  await roles.first().waitFor();
  if ((await roles.count()) < 30) {
    fault(`the list has ${await roles.count()} roles`);
  }
  await inspect('list');
  await page.locator('#jobs').getByRole('link').first().click();
  await page.waitForURL(/\/careers\/acme\/roles\//);

  await page.goto(`${origin}/?slug=${empty.slug}`);
  await page.locator('#jobs').getByRole('status').filter({ hasText: /\.$/ }).waitFor();
  await inspect('empty');

  await page.goto(`${origin}/?slug=${hostile.slug}`);
  await roles.first().waitFor();
  if (!(await roles.first().innerText()).includes(trap.name.slice(0, 30))) {
    fault(`the list shows ${await roles.first().innerText()}`);
  }
  if ((await page.evaluate(() => window.__canary)) !== undefined) {
    fault('a name ran as a script');
  }

  await checkOverload(browser, origin, acme, fault);
  const cookies = await context.cookies();
  if (cookies.length > 0) {
    fault(`the browser has cookies ${JSON.stringify(cookies)}`);
  }
  await context.close();
  site.close();
}

/// Checks the embedded list while requests for its data are answered with 503, and after a retry. The browser's
/// messages about these answers are not faults.
async function checkOverload(browser, origin, acme, fault) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route('**/api/public/portal/**', (route) => route.fulfill({ status: 503, body: '' }));
  await page.goto(`${origin}/?slug=${acme.slug}`);
  const retry = page.locator('#jobs').getByRole('button');
  await retry.waitFor();
  await screenshot(page, 'embed-failed');
  for (const violation of await violations(page)) {
    fault(`failed: ${violation}`);
  }
  await page.unroute('**/api/public/portal/**');
  await retry.click();
  await page.locator('#jobs').getByRole('listitem').first().waitFor();
  await context.close();
}
