//! Spanish.

use super::{Careers, Common, Signup, Status, Texts};

pub(super) static TEXTS: Texts = Texts {
    tag: "es",
    own_name: "Español",
    common: Common {
        skip: "Saltar al contenido",
        language: "Idioma",
        privacy: "Aviso de privacidad",
        all_roles: "Todos los puestos en {organization}",
        not_found: "Esta página no existe",
        failed: "Algo ha fallado",
        ask: "Si pregunta por ello, indique este número: {number}",
    },
    careers: Careers {},
    signup: Signup {},
    status: Status {},
};
