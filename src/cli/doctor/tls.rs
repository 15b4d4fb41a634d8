//! The certificate of the service and its key.

use super::patient::Patient;
use super::report::{Report, Urgency};
use crate::cli::acme_args;
use crate::domain::text::counted;
use crate::http::{self, AcmeFolder, Tls, TlsFiles};

const AREA: &str = "TLS";

pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) {
    if let Some(settings) = patient.args.tls.acme.settings() {
        if let Some(why) = acme_args::MISSING {
            return report.add(Urgency::Now, AREA, format!("--acme-domain: {why}"), "appliance settings");
        }
        return examine_ordered(patient, settings.domain.as_str(), report);
    }
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
            format!("the certificate {certificate} expires in {}; renew it", counted(days, "day")),
            format!("openssl x509 -in {certificate} -noout -enddate"),
        );
    }
}

/// Examines the certificate that the service has ordered. The service renews the certificate itself, so the command for
/// most problems shows the log of its attempts.
fn examine_ordered(patient: &Patient<'_>, domain: &str, report: &mut Report) {
    let folder = AcmeFolder::of(&patient.path);
    if let Err(sentence) = folder.check() {
        report.add(Urgency::Now, AREA, sentence, format!("ls -ld {}", folder.path().display()));
    }
    let (path, now) = (folder.certificate_path(), patient.world.now());
    let log = "journalctl -u appliance --grep certificate --since -1week";
    let because = folder.last_failure().map(|why| format!("; the last attempt failed: {why}")).unwrap_or_default();
    if !path.exists() {
        let sentence = format!("there is no certificate for {domain} yet{because}");
        return report.add(Urgency::Now, AREA, sentence, log);
    }
    let shown = path.display();
    match Tls::read(TlsFiles { certificate: path.clone(), key: path.clone() }, now) {
        Err(sentence) => report.add(Urgency::Now, AREA, format!("{sentence}{because}"), log),
        Ok(tls) if !tls.is_for(domain) => report.add(
            Urgency::Now,
            AREA,
            format!("the certificate {shown} is not for {domain}{because}"),
            format!("openssl x509 -in {shown} -noout -ext subjectAltName"),
        ),
        Ok(_) if !because.is_empty() => {
            report.add(Urgency::Soon, AREA, format!("the certificate {shown} was not renewed{because}"), log);
        }
        Ok(_) => {}
    }
}
