// Checks the pages of organizations whose colour has poor contrast, as a background or as text.

import { applied, open, screenshot, inParallel, visitor } from './browser.mjs';
import { COLOUR_RULES, violations } from './accessible.mjs';

export async function check(browser, { colours }, fault) {
  await inParallel(2, Object.entries(colours), async ([name, { of, role }]) => {
    const person = { email: `painter.${name}@example.org`, note: 'Hello.' };
    const { form, confirmation, status } = await applied(browser, fault, { slug: of.slug, role, person });
    const context = await visitor(browser, fault, { width: 390, height: 844 });
    const page = await context.newPage();
    const role_page = `/careers/${of.slug}/roles/${role.id}`;
    for (const path of [`/careers/${of.slug}`, role_page, `/careers/${of.slug}/privacy`, form, confirmation, status]) {
      await open(page, path, fault);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        for (const violation of await violations(page, { only: COLOUR_RULES })) {
          fault(`${name}, ${path}, ${colorScheme}: ${violation}`);
        }
        if (path === role_page || path === status) {
          await screenshot(page, `colour-${name}-${path === status ? 'status' : 'role'}-${colorScheme}`);
        }
        await checkButtonEdges(page, (message) => fault(`${name}, ${path}, ${colorScheme}: ${message}`));
      }
    }
    await context.close();
  });
}

/// Checks the contrast between the edge of each button and the page (WCAG 1.4.11), which axe-core does not check.
async function checkButtonEdges(page, fault) {
  const found = await page.evaluate(() => {
    const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const light = (colour) => {
      const [r, g, b] = colour.match(/[\d.]+/g).map((part) => channel(part / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
      const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
      return (bright + 0.05) / (dark + 0.05);
    };
    const page = getComputedStyle(document.body).backgroundColor;
    return [...document.querySelectorAll('main button, main a.button')].map((button) => {
      const { backgroundColor, borderTopColor, borderTopWidth } = getComputedStyle(button);
      const edge = parseFloat(borderTopWidth) > 0 ? contrast(borderTopColor, page) : 0;
      const area = backgroundColor.startsWith('rgba(0, 0, 0, 0') ? 0 : contrast(backgroundColor, page);
      return { text: button.textContent, contrast: Math.max(edge, area) };
    });
  });
  found.filter(({ contrast }) => contrast < 3).forEach(({ text, contrast }) => fault(`"${text}": the contrast of its edge is only ${contrast.toFixed(2)}`));
}
