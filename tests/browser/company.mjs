// Creates organizations and roles of all kinds over HTTP, before candidates apply.

const { BASE: base, KEY: key } = process.env;

export { base };

/// Sends a request and returns the `data` member of the response. Throws an error unless the status indicates success.
export async function call(method, path, body, type = 'application/json') {
  const sent = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const headers = { Authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'Content-Type': type }) };
  const answer = await fetch(base + path, { method, headers, body: sent });
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(`${method} ${path} was answered with ${answer.status}: ${text}`);
  }
  return text === '' ? null : JSON.parse(text).data;
}

/// Strings that a page must display. All of them except `template` set `__canary` if a page executes them instead.
export const HOSTILE = {
  script: '<script>window.__canary=1</script>',
  image: '<img src=x onerror="window.__canary=2">',
  attribute: '"><svg onload=window.__canary=3> \' onfocus=window.__canary=4 autofocus x=\'',
  title: '</title></textarea></style><script>window.__canary=5</script>',
  json: '</script><script>window.__canary=6</script><!--',
  template: '{{7*7}}${7*7}<%=7*7%>',
};

const HOSTILE_MARKDOWN = [
  '# Heading <script>window.__canary=11</script>',
  '[a link](javascript:window.__canary=12) [another](JaVaScRiPt:window.__canary=13 "title") <javascript:window.__canary=14>',
  '[data](data:text/html,<script>window.__canary=15</script>) ![picture](https://elsewhere.example/p.png)',
  '<img src=x onerror="window.__canary=16"> <a href="javascript:window.__canary=17" onclick="window.__canary=18">click</a>',
  '<iframe srcdoc="<script>parent.__canary=19</script>"></iframe><form action="https://elsewhere.example"><button>Go</button></form>',
  '<style>body{display:none}</style><meta http-equiv="refresh" content="0;url=https://elsewhere.example">',
  '`code </script><script>window.__canary=20</script>`',
  '| a | b |\n|---|---|\n| <script>window.__canary=21</script> | [x](vbscript:x) |',
].join('\n\n');

const DESCRIPTION = `You keep the lights on for **two million** people.

## What you will do

- run what others build, and build what runs it
- write down what you found out

1. First you listen.
2. Then you change things.

> We have no on-call at night.

Read [how we work](https://acme.example/work "Our handbook").

\`\`\`
a line of code that is much longer than any telephone is wide, so that it has to be scrolled or broken somewhere
\`\`\`

| Where | When |
|---|---|
| Zurich | three days a week |`;

/// A valid PNG of 40 by 16 pixels.
const LOGO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAACgAAAAQCAIAAADrtar6AAAAJ0lEQVR42mPgL8sbEMQwavFAWXzIkYd2aNTiUYtHLR7eFo+W1TRDAPAGfiP3GLJyAAAAAElFTkSuQmCC',
  'base64',
);

async function organization(slug, name, primaryColor, more = {}) {
  const theme = { primaryColor, showSalary: true };
  const input = { name, slug, domain: `${slug}.example`, timeZone: 'Europe/Zurich', portal: { enabled: true, theme }, ...more };
  return { slug, name, id: (await call('POST', '/api/admin/organizations', input)).id };
}

/// Creates a role with three steps and opens it. If `then` is `draft`, the role stays a draft; if it is `closed`, the
/// role is closed again.
async function role(organization, input, then) {
  const path = `/api/v1/organizations/${organization.id}/roles`;
  const { id } = await call('POST', path, { public: true, positions: 3, ...input });
  for (const [name, stepType] of [['Application', 'application'], ['Interview', 'interview'], ['Offer', 'offer']]) {
    await call('POST', `/api/v1/roles/${id}/steps`, { name, stepType });
  }
  if (then === 'draft') {
    return { id, name: input.name };
  }
  await call('POST', `/api/v1/roles/${id}/open`);
  if (then === 'closed') {
    await close({ id });
  }
  return { id, name: input.name };
}

export async function close(role) {
  await call('POST', `/api/v1/roles/${role.id}/close`, { reason: 'Somebody was found.' });
}

const markdown = (body) => ({ format: 'markdown', body });

/// Colours with poor contrast, as a background or as text.
export const COLOURS = { yellow: '#ffff00', white: '#ffffff', black: '#000000', grey: '#808080' };

export async function createCompany() {
  const acme = await organization('acme', 'Acme Söhne & Co.', '#0f766e');
  const engineer = await role(acme, {
    name: 'Platform Engineer (m/f/d)', department: 'Engineering', location: 'Zurich', workType: 'hybrid',
    description: markdown(DESCRIPTION), salaryMin: 110000, salaryMax: 140000, salaryCurrency: 'CHF', salaryPeriod: 'year',
  });
  // `pages` takes roles of its own from this list for its applications, so that the order of the parts does not matter.
  const roles = [];
  for (let nth = 0; nth < 55; nth += 1) {
    roles.push(await role(acme, {
      name: `${['Nurse', 'Cook', 'Gärtnerin', 'Head of Very Long Titles That Do Not Fit Into One Line'][nth % 4]} ${nth}`,
      department: ['Care', 'Kitchen', 'Garten', 'Staff'][nth % 4], location: nth % 3 === 0 ? 'Genève' : 'Bern',
      workType: ['onsite', 'remote', 'hybrid'][nth % 3], description: markdown('A job.'),
    }));
  }
  const closed = await role(acme, { name: 'Clockmaker', description: markdown('Closed.') }, 'closed');
  const draft = await role(acme, { name: 'Not yet there', description: markdown('Draft.') }, 'draft');
  const empty = await organization('empty', 'Nobody Wanted AG', '#7c3aed', { privacyNotice: 'Our **own** notice.\n\n- short' });
  const colours = {};
  for (const [name, colour] of Object.entries(COLOURS)) {
    const of = await organization(`in-${name}`, `In ${name}`, colour);
    colours[name] = { of, role: await role(of, { name: 'Painter', location: 'Basel', description: markdown(DESCRIPTION) }) };
  }
  const hostile = await organization('hostile', `Hostile ${HOSTILE.script}${HOSTILE.image}`, '#b91c1c', {
    privacyNotice: HOSTILE_MARKDOWN,
  });
  const trap = await role(hostile, {
    name: `Trap ${HOSTILE.attribute}${HOSTILE.title}${HOSTILE.json}`, department: `Care ${HOSTILE.image}${HOSTILE.template}`,
    location: `Bern ${HOSTILE.attribute}`, workType: 'remote', description: markdown(HOSTILE_MARKDOWN),
  });
  await call('PUT', `/api/admin/organizations/${acme.id}/logo`, LOGO, 'image/png');
  return { acme, engineer, roles, closed, draft, empty, colours, hostile, trap };
}

/// Sends a request whose response is not JSON. Returns the status and the bytes of the response.
export async function download(path) {
  const answer = await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
}
