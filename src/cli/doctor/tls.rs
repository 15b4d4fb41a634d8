//! The certificate of the service and its key.

use super::patient::Patient;
use super::report::{Report, Urgency};
use crate::http::{self, Tls};

const AREA: &str = "TLS";

pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) {
    let Some(files) = patient.args.tls.files() else { return };
    let (certificate, key) = (files.certificate.display().to_string(), files.key.display().to_string());
    if let Some(warning) = files.warning() {
        report.add(Urgency::Now, AREA, warning, format!("chmod o= {key}"));
    }
    let now = patient.world.now();
    let tls = match Tls::read(files, now) {
        Ok(tls) => tls,
        Err(sentence) => {
            let command = format!("openssl x509 -in {certificate} -noout -subject -dates");
            return report.add(Urgency::Now, AREA, sentence, command);
        }
    };
    if let Some(host) = patient.args.base_url.as_deref().and_then(http::host).filter(|host| !tls.is_for(host)) {
        report.add(
            Urgency::Now,
            AREA,
            format!("the certificate {certificate} is not for {host}, so browsers refuse it"),
            format!("openssl x509 -in {certificate} -noout -ext subjectAltName"),
        );
    }
    if let Some(days) = tls.reminder(now) {
        report.add(
            Urgency::Soon,
            AREA,
            format!("the certificate {certificate} expires in {days} days; renew it"),
            format!("openssl x509 -in {certificate} -noout -enddate"),
        );
    }
}
