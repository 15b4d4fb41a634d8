//! The texts of the page behind a sign-in link.

use super::ByLanguage;

pub(in crate::http) struct JoinTexts {
    /// The title, with `{name}`.
    pub(in crate::http) title: &'static str,
    /// The person who made the link, with `{name}`.
    pub(in crate::http) invited_by: &'static str,
    /// The organizations that the user joins, with `{organizations}`.
    pub(in crate::http) invited_to: &'static str,
    /// The address with which the user signs in, with `{email}`.
    pub(in crate::http) account: &'static str,
    pub(in crate::http) new_password: &'static str,
    /// The hint below a new password, with `{min}`.
    pub(in crate::http) password_hint: &'static str,
    pub(in crate::http) set_button: &'static str,
    /// The text and the button of the demo, which asks for no password.
    pub(in crate::http) demo: &'static str,
    pub(in crate::http) demo_button: &'static str,
    pub(in crate::http) gone: &'static str,
    pub(in crate::http) gone_more: &'static str,
    /// The reasons why a password is refused. The first has `{min}` and `{max}`.
    pub(in crate::http) bad_length: &'static str,
    pub(in crate::http) repeats: &'static str,
    pub(in crate::http) of_user: &'static str,
    pub(in crate::http) common: &'static str,
}

pub(in crate::http) static JOIN: ByLanguage<JoinTexts> = ByLanguage {
    en: JoinTexts {
        title: "Welcome, {name}",
        invited_by: "{name} gave you this link.",
        invited_to: "This link opens the staff console of {organizations}.",
        account: "You sign in as {email}.",
        new_password: "Choose a password",
        password_hint: "At least {min} characters. Several unrelated words work well.",
        set_button: "Set the password and sign in",
        demo: "This is a sample company with invented people. Try anything you like.",
        demo_button: "Open the console",
        gone: "This link no longer works",
        gone_more: "A sign-in link works once, and only for a limited time. If you have a password, sign in with it. Otherwise, ask an admin of your organization for a new link.",
        bad_length: "The password must have {min} to {max} characters.",
        repeats: "This password repeats itself and is easy to guess. Choose another one.",
        of_user: "This password is little more than your address or name. Choose another one.",
        common: "This password is among the first that attackers try. Choose several unrelated words.",
    },
    de: JoinTexts {
        title: "Willkommen, {name}",
        invited_by: "{name} hat Ihnen diesen Link gegeben.",
        invited_to: "Dieser Link öffnet die Bewerbungskonsole von {organizations}.",
        account: "Sie melden sich mit {email} an.",
        new_password: "Wählen Sie ein Passwort",
        password_hint: "Mindestens {min} Zeichen. Gut sind mehrere Wörter, die nichts miteinander zu tun haben.",
        set_button: "Passwort festlegen und anmelden",
        demo: "Dies ist ein Beispielunternehmen mit erfundenen Personen. Probieren Sie alles aus.",
        demo_button: "Konsole öffnen",
        gone: "Dieser Link gilt nicht mehr",
        gone_more: "Ein Anmeldelink lässt sich nur einmal und nur für begrenzte Zeit verwenden. Wenn Sie ein Passwort haben, melden Sie sich damit an. Bitten Sie sonst einen Admin Ihres Unternehmens um einen neuen Link.",
        bad_length: "Das Passwort muss {min} bis {max} Zeichen haben.",
        repeats: "Dieses Passwort besteht aus Wiederholungen und ist leicht zu erraten. Wählen Sie ein anderes.",
        of_user: "Dieses Passwort besteht fast nur aus Ihrer E-Mail-Adresse oder Ihrem Namen. Wählen Sie ein anderes.",
        common: "Dieses Passwort gehört zu den ersten, die Angreifer ausprobieren. Wählen Sie mehrere Wörter, die nichts miteinander zu tun haben.",
    },
    fr: JoinTexts {
        title: "Bienvenue, {name}",
        invited_by: "{name} vous a donné ce lien.",
        invited_to: "Ce lien ouvre la console de recrutement de {organizations}.",
        account: "Vous vous connectez avec {email}.",
        new_password: "Choisissez un mot de passe",
        password_hint: "Au moins {min} caractères. Plusieurs mots sans rapport entre eux conviennent bien.",
        set_button: "Définir le mot de passe et se connecter",
        demo: "Ceci est une entreprise fictive avec des personnes inventées. Essayez tout ce que vous voulez.",
        demo_button: "Ouvrir la console",
        gone: "Ce lien ne fonctionne plus",
        gone_more: "Un lien de connexion fonctionne une seule fois, et pendant une durée limitée. Si vous avez un mot de passe, utilisez-le pour vous connecter. Sinon, demandez un nouveau lien à un administrateur de votre organisation.",
        bad_length: "Le mot de passe doit comporter de {min} à {max} caractères.",
        repeats: "Ce mot de passe est répétitif et facile à deviner. Choisissez-en un autre.",
        of_user: "Ce mot de passe n’est guère plus que votre adresse ou votre nom. Choisissez-en un autre.",
        common: "Ce mot de passe est parmi les premiers que des attaquants essaient. Choisissez plusieurs mots sans rapport entre eux.",
    },
    es: JoinTexts {
        title: "Le damos la bienvenida, {name}",
        invited_by: "{name} le ha dado este enlace.",
        invited_to: "Este enlace abre la consola de selección de {organizations}.",
        account: "Iniciará sesión como {email}.",
        new_password: "Elija una contraseña",
        password_hint: "Al menos {min} caracteres. Varias palabras sin relación entre sí son una buena opción.",
        set_button: "Establecer la contraseña e iniciar sesión",
        demo: "Esta es una empresa de ejemplo con personas inventadas. Pruebe todo lo que quiera.",
        demo_button: "Abrir la consola",
        gone: "Este enlace ya no funciona",
        gone_more: "Un enlace de acceso funciona una sola vez y durante un tiempo limitado. Si tiene contraseña, inicie sesión con ella. Si no, pida un enlace nuevo a un administrador de su organización.",
        bad_length: "La contraseña debe tener entre {min} y {max} caracteres.",
        repeats: "Esta contraseña es repetitiva y fácil de adivinar. Elija otra.",
        of_user: "Esta contraseña es poco más que su correo o su nombre. Elija otra.",
        common: "Esta contraseña es de las primeras que prueban los atacantes. Elija varias palabras sin relación entre sí.",
    },
};
