// Passkeys in the staff console, with Chromium's virtual authenticators: a user joins with a passkey, adds another one,
// signs in without typing, and confirms an act. A copy of an authenticator, another origin, a wrong signature and an
// answer without user verification are refused.

import { screenshot, visitor } from './browser.mjs';
import { base, inspect, linkOf } from './staff.mjs';

const EMAIL = 'leonie.brandt@halmwind.example.com';

/// A virtual authenticator of a page (Chrome DevTools Protocol, domain WebAuthn).
class Authenticator {
  static async attach(cdp, options = {}) {
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true,
        automaticPresenceSimulation: true, ...options,
      },
    });
    return Object.assign(new Authenticator(), { cdp, authenticatorId });
  }

  async credentials() {
    return (await this.send('getCredentials')).credentials;
  }

  send(command, more = {}) {
    return this.cdp.send(`WebAuthn.${command}`, { authenticatorId: this.authenticatorId, ...more });
  }

  remove() {
    return this.send('removeVirtualAuthenticator');
  }
}

/// Runs `work`, and returns its duration in milliseconds.
async function timed(work) {
  const at = performance.now();
  await work();
  return Math.round(performance.now() - at);
}

const REFUSAL = '.notice.bad, [data-passkey-fault]:not([hidden])';

/// Opens the sign-in page and waits for the outcome. Without `button`, the virtual authenticator accepts the request by
/// which the page offers passkeys among the suggestions of the email field. Returns the text of the refusal, or
/// `undefined` if the user was signed in.
async function signIn(page, button) {
  await page.goto(`${base}/sign-in`, { waitUntil: 'commit' });
  await button?.click();
  const outcome = page.locator(`${REFUSAL}, nav.tabs`).first();
  await outcome.waitFor();
  return (await outcome.getAttribute('class')) === 'tabs' ? undefined : (await outcome.innerText()).trim();
}

/// Signs out without opening the sign-in page.
async function signOut(page) {
  await page.request.post(`${base}/app/sign-out`, { form: {}, headers: { Origin: base }, maxRedirects: 0 });
}

/// Changes the fields of the forms that the page sends to this path during `work`.
async function changing(page, path, change, work) {
  const handler = async (route) => {
    const fields = new URLSearchParams(route.request().postData());
    change(fields);
    await route.continue({ postData: fields.toString() });
  };
  await page.route(`${base}${path}`, handler);
  await work();
  await page.unroute(`${base}${path}`, handler);
}

export async function check(browser, company, fault) {
  // Chromium logs a line for the request that this part answers with 429.
  const context = await visitor(browser, (text) => text.includes('status of 429') || fault(text), { origins: [base], locale: 'en' });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable', { enableUI: false });
  const first = await Authenticator.attach(cdp);
  const expect = (what, text, wanted) => text?.includes(wanted) || fault(`${what}: ${text ?? 'accepted'}, not “${wanted}”`);

  await page.goto(await linkOf(EMAIL));
  await inspect(page, fault);
  await screenshot(page, 'console-passkey-join');
  const joined = await timed(async () => {
    await page.getByRole('button', { name: 'Use a passkey instead of a password' }).click();
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  });
  await page.goto(`${base}/app/me/second-factor`);
  await inspect(page, fault);
  if ((await page.locator('.rows b', { hasText: 'Passkey “' }).count()) !== 1) fault('the passkey is not in the list');
  await screenshot(page, 'console-passkey-list');

  // The page refuses the same authenticator and accepts a security key.
  await page.goto(`${base}/app/me/passkeys/new`);
  await inspect(page, fault);
  await screenshot(page, 'console-passkey-new');
  await page.getByRole('button', { name: 'Add the passkey' }).click();
  await page.locator('[data-passkey-fault]:not([hidden])').waitFor();
  expect('the same authenticator', await page.locator('[data-passkey-fault]').innerText(), 'already registered');
  const second = await Authenticator.attach(cdp, { transport: 'usb' });
  await page.locator('[name=name]').fill('Security key <b>');
  await page.getByRole('button', { name: 'Add the passkey' }).click();
  await page.waitForURL(/done=passkey-added/);
  await page.getByText('Passkey “Security key <b>”', { exact: true }).waitFor();
  await second.remove();

  await signOut(page);
  let typed = 0;
  page.on('request', (request) => request.url().endsWith('/sign-in') && request.method() === 'POST' && (typed += 1));
  const times = [];
  for (let nth = 0; nth < 10; nth += 1) {
    let refusal;
    times.push(await timed(async () => (refusal = await signIn(page))));
    if (refusal !== undefined) fault(`sign-in ${nth} was refused: ${refusal}`);
    await signOut(page);
  }
  if (typed > 0) fault('a password was sent');
  times.sort((a, b) => a - b);
  // In a browser that cannot offer passkeys among the suggestions, the button signs the user in.
  const hidden = await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined');
  if ((await signIn(page, page.getByRole('button', { name: 'Sign in with a passkey' }))) !== undefined) {
    fault('the button does not sign the user in');
  }
  await hidden.dispose();
  await signOut(page);

  await signIn(page);
  // A wrong code leads to the confirmation page.
  await page.evaluate(() => {
    const form = document.createElement('form');
    form.method = 'post';
    form.action = '/app/confirm?next=%2Fapp%2Fme%2Fsecond-factor';
    const code = document.createElement('input');
    Object.assign(code, { name: 'confirmation.code', value: '000000' });
    form.append(code);
    document.body.append(form);
    form.submit();
  });
  await page.getByRole('button', { name: 'Confirm with a passkey' }).waitFor();
  await inspect(page, fault);
  await screenshot(page, 'console-passkey-confirm');
  const confirmed = await timed(async () => {
    await page.getByRole('button', { name: 'Confirm with a passkey' }).click();
    // The query of the confirmation page contains the path of the next page, so only the path of the URL is compared.
    await page.waitForURL((url) => url.pathname === '/app/me/second-factor');
  });
  await signOut(page);

  const otherOrigin = (fields) => {
    const data = JSON.parse(Buffer.from(fields.get('confirmation.client_data'), 'base64url'));
    const changed = JSON.stringify({ ...data, origin: 'https://halmwind.example.net' });
    fields.set('confirmation.client_data', Buffer.from(changed).toString('base64url'));
  };
  await changing(page, '/sign-in/passkey', otherOrigin, async () => {
    expect('another origin', await signIn(page), 'at the configured address of this service');
  });
  const otherSignature = (fields) => {
    const bytes = Buffer.from(fields.get('confirmation.signature'), 'base64url');
    bytes[bytes.length - 1] ^= 1;
    fields.set('confirmation.signature', bytes.toString('base64url'));
  };
  await changing(page, '/sign-in/passkey', otherSignature, async () => {
    expect('another signature', await signIn(page), 'This passkey was not accepted');
  });

  const tooMany = (route) => route.fulfill({ status: 429, headers: { 'Retry-After': '7' }, body: '' });
  await page.route(`${base}/sign-in/passkey-options`, tooMany);
  expect('too many requests', await signIn(page, page.getByRole('button', { name: 'Sign in with a passkey' })), 'Please wait 7 s,');
  await page.unroute(`${base}/sign-in/passkey-options`, tooMany);

  // A browser need not verify the user if the options discourage verification. The service must still require it.
  const relax = async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), userVerification: 'discouraged' } });
  };
  await page.route(`${base}/sign-in/passkey-options`, relax);
  await first.send('setUserVerified', { isUserVerified: false });
  expect('no user verification', await signIn(page), 'did not ask for your fingerprint');
  await page.unroute(`${base}/sign-in/passkey-options`, relax);
  await first.send('setUserVerified', { isUserVerified: true });

  const [original] = await first.credentials();
  if ((await signIn(page)) !== undefined) fault('the original was refused');
  await signOut(page);
  await first.remove();
  const copy = await Authenticator.attach(cdp);
  await copy.send('addCredential', { credential: { ...original, signCount: 1 } });
  expect('a copy', await signIn(page), 'a copy of it seems to exist');
  await copy.remove();
  const stranger = await Authenticator.attach(cdp);
  await page.goto(`${base}/sign-in`);
  await screenshot(page, 'console-passkey-sign-in');
  await stranger.remove();
  await context.close();

  // At an IP address, and without scripts, the page says why it offers no passkeys.
  const address = base.replace('localhost', '127.0.0.1');
  for (const [origin, hasScript] of [[address, true], [base, false]]) {
    const plain = await visitor(browser, fault, { origins: [origin], hasScript });
    const other = await plain.newPage();
    await other.goto(`${origin}/sign-in`);
    const [note, button] = [other.locator('[data-passkey-note]'), other.getByRole('button', { name: 'passkey' })];
    if (!(await note.isVisible()) || (await button.isVisible())) fault(`${origin}, scripts ${hasScript}: the page offers passkeys, or does not say why it offers none`);
    await plain.close();
  }
  console.log(`  joined in ${joined} ms, ${times.length} sign-ins without typing in ${times[5]} ms (median) to ${times[9]} ms, `
    + `confirmed in ${confirmed} ms; 4 kinds of wrong answers refused`);
}
