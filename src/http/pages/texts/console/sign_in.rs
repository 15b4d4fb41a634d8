//! The texts of the sign-in page, and of the page that submits a form again after a sign-in.

use super::ByLanguage;

pub(in crate::http) struct SignInTexts {
    pub(in crate::http) title: &'static str,
    pub(in crate::http) email: &'static str,
    pub(in crate::http) password: &'static str,
    pub(in crate::http) button: &'static str,
    /// The advice for people who cannot sign in.
    pub(in crate::http) help: &'static str,
    /// The reason for the sign-in: a person without a session requested a page.
    pub(in crate::http) ended: &'static str,
    /// The reason for the sign-in: the person submitted a form after the session had ended.
    pub(in crate::http) ended_with_form: &'static str,
    pub(in crate::http) wrong: &'static str,
    /// The message after too many failures: `{seconds}`.
    pub(in crate::http) throttled: &'static str,
    /// The page that submits the form again: its title, its text, and its two controls.
    pub(in crate::http) resume: &'static str,
    pub(in crate::http) resume_more: &'static str,
    pub(in crate::http) resume_button: &'static str,
    pub(in crate::http) discard: &'static str,
}

pub(in crate::http) static SIGN_IN: ByLanguage<SignInTexts> = ByLanguage {
    en: SignInTexts {
        title: "Sign in",
        email: "Email address",
        password: "Password",
        button: "Sign in",
        help: "Have you forgotten your password, or never had one? Ask an admin of your organization for a sign-in link.",
        ended: "Please sign in to continue.",
        ended_with_form: "Your session had ended, so your form was not processed. Sign in to continue. Your input is not lost.",
        wrong: "The address or the password is wrong.",
        throttled: "Too many attempts. Please wait {seconds} s, then try again.",
        resume: "You are signed in again",
        resume_more: "Your form has not been processed yet.",
        resume_button: "Send the form again",
        discard: "Do not send it",
    },
    de: SignInTexts {
        title: "Anmelden",
        email: "E-Mail-Adresse",
        password: "Passwort",
        button: "Anmelden",
        help: "Haben Sie Ihr Passwort vergessen, oder haben Sie noch keines? Bitten Sie einen Admin Ihres Unternehmens um einen Anmeldelink.",
        ended: "Bitte melden Sie sich an, um fortzufahren.",
        ended_with_form: "Ihre Sitzung war abgelaufen, deshalb wurde Ihr Formular nicht verarbeitet. Melden Sie sich an, um fortzufahren. Ihre Eingaben sind noch da.",
        wrong: "Die E-Mail-Adresse oder das Passwort ist falsch.",
        throttled: "Zu viele Versuche. Bitte warten Sie {seconds} s und versuchen Sie es dann noch einmal.",
        resume: "Sie sind wieder angemeldet",
        resume_more: "Ihr Formular wurde noch nicht verarbeitet.",
        resume_button: "Formular noch einmal senden",
        discard: "Nicht senden",
    },
    fr: SignInTexts {
        title: "Connexion",
        email: "Adresse e-mail",
        password: "Mot de passe",
        button: "Se connecter",
        help: "Vous avez oublié votre mot de passe, ou vous n’en avez pas encore\u{a0}? Demandez un lien de connexion à un administrateur de votre organisation.",
        ended: "Veuillez vous connecter pour continuer.",
        ended_with_form: "Votre session avait pris fin\u{a0}: votre formulaire n’a pas été traité. Connectez-vous pour continuer. Votre saisie n’est pas perdue.",
        wrong: "L’adresse ou le mot de passe est incorrect.",
        throttled: "Trop de tentatives. Veuillez patienter {seconds} s, puis réessayer.",
        resume: "Vous êtes de nouveau connecté",
        resume_more: "Votre formulaire n’a pas encore été traité.",
        resume_button: "Renvoyer le formulaire",
        discard: "Ne pas l’envoyer",
    },
    es: SignInTexts {
        title: "Iniciar sesión",
        email: "Correo electrónico",
        password: "Contraseña",
        button: "Iniciar sesión",
        help: "¿Ha olvidado su contraseña o aún no tiene ninguna? Pida un enlace de acceso a un administrador de su organización.",
        ended: "Inicie sesión para continuar.",
        ended_with_form: "Su sesión había terminado, así que su formulario no se ha procesado. Inicie sesión para continuar. Lo que ha escrito no se ha perdido.",
        wrong: "El correo o la contraseña no son correctos.",
        throttled: "Demasiados intentos. Espere {seconds} s y vuelva a intentarlo.",
        resume: "Ha vuelto a iniciar sesión",
        resume_more: "Su formulario todavía no se ha procesado.",
        resume_button: "Volver a enviar el formulario",
        discard: "No enviarlo",
    },
};
