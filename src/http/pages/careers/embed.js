// Shows an organization's open roles on any page:
//
//   <div id="jobs"></div>
//   <script src="https://jobs.example.com/careers/acme/embed.js" data-target="jobs" async></script>
//
// data-target: the id of the element to fill. By default, the list appears before the script or,
//              if the script is not in the body, at the end of the body.
// data-lang:   en, de, fr or es. Default: the page's language or, if it is not one of these, English.
//
// The list inherits the page's font and colour. The page can style ::part(role),
// ::part(link), ::part(facts) and ::part(button).
(() => {
  'use strict';

  const TEXTS = {
    en: {
      title: 'Open roles', loading: 'Loading open roles…', empty: 'There are no open roles right now.',
      failed: 'The open roles could not be loaded.', retry: 'Try again', portal: 'See all roles',
      remote: 'Remote', hybrid: 'Hybrid', onsite: 'On site', from: 'from {0}', to: 'up to {0}',
      until: 'Apply by {0}',
      hour: '{0} an hour', day: '{0} a day', week: '{0} a week', month: '{0} a month', year: '{0} a year',
    },
    de: {
      title: 'Offene Stellen', loading: 'Offene Stellen werden geladen …', empty: 'Zurzeit sind keine Stellen offen.',
      failed: 'Die offenen Stellen konnten nicht geladen werden.', retry: 'Erneut versuchen', portal: 'Alle Stellen ansehen',
      remote: 'Remote', hybrid: 'Hybrid', onsite: 'Vor Ort', from: 'ab {0}', to: 'bis zu {0}',
      until: 'Bewerbung bis {0}',
      hour: '{0} pro Stunde', day: '{0} pro Tag', week: '{0} pro Woche', month: '{0} im Monat', year: '{0} im Jahr',
    },
    fr: {
      title: 'Postes à pourvoir', loading: 'Chargement des postes…', empty: 'Aucun poste n’est à pourvoir pour le moment.',
      failed: 'Les postes n’ont pas pu être chargés.', retry: 'Réessayer', portal: 'Voir tous les postes',
      remote: 'Télétravail', hybrid: 'Hybride', onsite: 'Sur site', from: 'à partir de {0}', to: 'jusqu’à {0}',
      until: 'Candidature jusqu’au {0}',
      hour: '{0} de l’heure', day: '{0} par jour', week: '{0} par semaine', month: '{0} par mois', year: '{0} par an',
    },
    es: {
      title: 'Puestos vacantes', loading: 'Cargando los puestos vacantes…', empty: 'Ahora mismo no hay puestos vacantes.',
      failed: 'No se han podido cargar los puestos vacantes.', retry: 'Reintentar', portal: 'Ver todos los puestos',
      remote: 'En remoto', hybrid: 'Híbrido', onsite: 'Presencial', from: 'desde {0}', to: 'hasta {0}',
      until: 'Candidaturas hasta el {0}',
      hour: '{0} por hora', day: '{0} al día', week: '{0} a la semana', month: '{0} al mes', year: '{0} al año',
    },
  };

  const STYLE = `
    :host { display: block }
    section:focus { outline: none }
    p { margin: 0 }
    ul { list-style: none; margin: 0; padding: 0 }
    li { padding: .75em 0; border-bottom: 1px solid rgba(128, 128, 128, .5) }
    a { color: inherit; font-weight: 600; text-underline-offset: .2em; overflow-wrap: anywhere }
    a:focus-visible, button:focus-visible { outline: 2px solid; outline-offset: 2px }
    .facts { margin-top: .25em; overflow-wrap: anywhere }
    button { font: inherit; color: inherit; background: none; border: 1px solid; border-radius: .25em;
      min-height: 44px; margin: .75em .75em 0 0; padding: 0 1em; cursor: pointer }
    [hidden] { display: none }`;

  const TIMEOUT_MS = 15000;

  const script = document.currentScript;
  const [, base, slug] = /^(.*)\/careers\/([^/?#]+)\/embed\.js/.exec(script.src);
  const matched = [script.dataset.lang, document.documentElement.lang]
    .map((tag) => (tag || '').toLowerCase().split('-')[0])
    .find((tag) => Object.hasOwn(TEXTS, tag));
  const lang = matched || 'en';
  const texts = TEXTS[lang];
  const query = matched ? `?lang=${matched}` : '';
  const portal = `${base}/careers/${slug}`;

  const fill = (text, value) => text.replace('{0}', () => value);

  // Creates an element. Strings among the children become text, never markup.
  const createElement = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  const salary = ({ salaryMin: min, salaryMax: max, salaryCurrency: currency, salaryPeriod: period }) => {
    if (!currency || (min === undefined && max === undefined)) {
      return '';
    }
    const format = (amount) => {
      const digits = Number.isInteger(amount) ? 0 : 2;
      const options = { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits };
      try {
        return new Intl.NumberFormat(lang, options).format(amount);
      } catch {
        return `${amount} ${currency}`;
      }
    };
    let text;
    if (min === undefined) {
      text = fill(texts.to, format(max));
    } else if (max === undefined) {
      text = fill(texts.from, format(min));
    } else {
      text = min === max ? format(min) : `${format(min)} – ${format(max)}`;
    }
    return texts[period] ? fill(texts[period], text) : text;
  };

  // The closing date is a day in the organization's time zone, so it is not converted.
  const until = ({ closesOn }) => {
    const locale = lang === 'en' ? 'en-GB' : lang;
    const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
    return closesOn && fill(texts.until, format.format(new Date(closesOn)));
  };

  const roleItem = (role) => {
    const url = `${portal}/roles/${encodeURIComponent(role.id)}${query}`;
    const facts = [role.department, role.location, role.workType && texts[role.workType], salary(role), until(role)];
    const line = facts.filter((fact) => fact && fact.trim()).join(' · ');
    return createElement('li', { part: 'role' },
      createElement('a', { part: 'link', href: url }, role.name),
      ...(line ? [createElement('p', { part: 'facts', class: 'facts' }, line)] : []));
  };

  const fetchRoles = async () => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
    try {
      const url = `${base}/api/public/portal/${slug}`;
      const response = await fetch(url, { credentials: 'omit', referrerPolicy: 'no-referrer', signal: controller.signal });
      // The organization does not exist, or it or its portal is disabled.
      if (response.status === 404) {
        return [];
      }
      if (!response.ok) {
        throw new Error(`status ${response.status}`);
      }
      return (await response.json()).roles;
    } finally {
      clearTimeout(timer);
    }
  };

  const render = (host) => {
    const root = host.attachShadow({ mode: 'open' });
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
    } catch {
      root.append(createElement('style', {}, STYLE));
    }
    const status = createElement('p', { role: 'status' });
    const list = createElement('ul', { role: 'list' });
    const button = createElement('button', { type: 'button', part: 'button' }, texts.retry);
    const failure = createElement('div', {}, button, createElement('a', { part: 'link', href: portal + query }, texts.portal));
    const section = createElement('section', { lang, 'aria-label': texts.title, tabindex: '-1' }, status, list, failure);
    root.append(section);

    const load = async () => {
      section.setAttribute('aria-busy', 'true');
      failure.hidden = true;
      status.hidden = false;
      status.textContent = texts.loading;
      try {
        const items = (await fetchRoles()).map(roleItem);
        list.replaceChildren(...items);
        status.textContent = texts.empty;
        status.hidden = items.length > 0;
      } catch {
        status.textContent = texts.failed;
        failure.hidden = false;
      }
      list.hidden = !list.hasChildNodes();
      section.removeAttribute('aria-busy');
    };
    button.addEventListener('click', () => {
      section.focus();
      load();
    });
    load();
  };

  const insert = () => {
    const host = document.createElement('div');
    const target = script.dataset.target && document.getElementById(script.dataset.target);
    if (target) {
      target.replaceChildren(host);
    } else if (document.body.contains(script)) {
      script.before(host);
    } else {
      document.body.append(host);
    }
    render(host);
  };

  if (document.readyState === 'loading') {
    document.addEventListener('DOMContentLoaded', insert, { once: true });
  } else {
    insert();
  }
})();
