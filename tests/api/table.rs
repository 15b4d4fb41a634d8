//! The route table has exactly the endpoints of the original interface and the additional endpoints in this list.

use appliance::domain::api_key::Scope;
use appliance::http::server::access_rule::AccessRule;

crate::tests![the_table_has_exactly_the_listed_routes, every_route_declares_the_answers_that_its_entry_implies];

fn the_table_has_exactly_the_listed_routes() {
    let table = appliance::http::routes::table();
    let mut found: Vec<String> =
        table.routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    found.sort();
    let mut expected = [
        // The original interface.
        "POST /api/v1/candidate-steps/{id}/reject",
        "POST /api/v1/candidate-steps/{id}/hire",
        "GET /api/v1/me",
        "POST /api/admin/api-keys",
        "GET /api/admin/api-keys",
        "GET /api/admin/api-keys/{id}/usage",
        "DELETE /api/admin/api-keys/{id}",
        "GET /api/public/portal/{orgSlug}",
        "GET /api/public/portal/{orgSlug}/roles/{roleId}",
        "POST /api/public/portal/{orgSlug}/apply",
        // The additional endpoints.
        "POST /api/v1/candidate-steps/{id}/validate",
        "POST /api/v1/candidate-steps/{id}/move",
        "POST /api/v1/candidate-steps/{id}/reopen",
        "POST /api/v1/candidate-steps/{id}/undo",
        "POST /api/v1/roles/{id}/decisions",
        "POST /api/v1/roles/{id}/decisions/{batchId}/undo",
        "POST /api/admin/organizations",
        "GET /api/admin/organizations",
        "GET /api/admin/organizations/{id}",
        "PATCH /api/admin/organizations/{id}",
        "GET /api/admin/organizations/{id}/retention",
        "POST /api/admin/organizations/{id}/retention/confirm",
        "PUT /api/admin/organizations/{id}/logo",
        "DELETE /api/admin/organizations/{id}/logo",
        "GET /careers/{orgSlug}/logo",
        "GET /api/admin/organizations/{id}/memberships",
        "PUT /api/admin/organizations/{id}/memberships/{userId}",
        "DELETE /api/admin/organizations/{id}/memberships/{userId}",
        "POST /api/admin/users",
        "GET /api/admin/users",
        "GET /api/admin/users/{id}",
        "PATCH /api/admin/users/{id}",
        "GET /api/admin/organizations/{id}/hr-integration",
        "PUT /api/admin/organizations/{id}/hr-integration",
        "DELETE /api/admin/organizations/{id}/hr-integration",
        "POST /api/admin/organizations/{id}/hr-integration/test",
        "GET /api/admin/hr-deliveries",
        "GET /api/admin/hr-deliveries/{id}",
        "POST /api/admin/hr-deliveries/{id}/retry",
        "GET /api/v1/organizations",
        "GET /api/v1/organizations/{id}",
        "GET /api/v1/organizations/{id}/roles",
        "POST /api/v1/organizations/{id}/roles",
        "GET /api/v1/roles/{id}",
        "PATCH /api/v1/roles/{id}",
        "DELETE /api/v1/roles/{id}",
        "POST /api/v1/roles/{id}/open",
        "POST /api/v1/roles/{id}/close",
        "POST /api/v1/roles/{id}/reopen",
        "POST /api/v1/roles/{id}/copy",
        "POST /api/v1/roles/{id}/steps",
        "PUT /api/v1/roles/{id}/steps/order",
        "PATCH /api/v1/roles/{id}/steps/{stepId}",
        "DELETE /api/v1/roles/{id}/steps/{stepId}",
        "GET /api/v1/roles/{id}/board",
        "GET /api/v1/roles/{id}/changes",
        "GET /api/v1/roles/{id}/in-progress",
        "GET /api/v1/organizations/{id}/status",
        "GET /api/v1/roles/{id}/report",
        "GET /api/admin/activity",
        "GET /api/v1/organizations/{id}/activity",
        "GET /api/v1/roles/{id}/activity",
        "GET /api/v1/candidates/{id}/activity",
        "GET /api/v1/organizations/{id}/candidates",
        "POST /api/v1/organizations/{id}/candidates",
        "GET /api/v1/candidates/{id}",
        "PATCH /api/v1/candidates/{id}",
        "POST /api/v1/candidate-roles/{id}/withdraw",
        "POST /api/v1/candidate-roles/{id}/transfer",
        "PUT /api/v1/candidate-roles/{id}/later",
        "DELETE /api/v1/candidate-roles/{id}/later",
        "POST /api/v1/candidate-roles/{id}/status-link",
        "GET /status/{token}",
        "GET /status/{token}/data",
        "GET /status/{token}/documents/{documentId}",
        "POST /status/{token}/withdraw",
        "POST /status/{token}/delete",
        "DELETE /api/v1/candidates/{id}",
        "GET /api/v1/candidates/{id}/documents/{documentId}",
        "GET /api/v1/candidates/{id}/export",
        "PUT /api/v1/candidates/{id}/hold",
        "DELETE /api/v1/candidates/{id}/hold",
        "POST /api/auth/sign-in",
        "POST /api/auth/sign-out",
        "GET /careers/{orgSlug}",
        "GET /careers/{orgSlug}/roles/{roleId}",
        "POST /careers/{orgSlug}/roles/{roleId}/apply",
        "GET /careers/{orgSlug}/privacy",
        "GET /careers/{orgSlug}/theme.css",
        "GET /assets/page.css",
        "GET /assets/icon.svg",
        "GET /api/openapi.json",
        "GET /docs",
        "GET /",
        "GET /.well-known/security.txt",
        "GET /healthz",
        "GET /readyz",
        "GET /signup/{token}",
        "GET /careers/{orgSlug}/sitemap.xml",
        "GET /careers/{orgSlug}/feed.atom",
        "GET /careers/{orgSlug}/jobs.xml",
        "GET /careers/{orgSlug}/embed.js",
        "GET /robots.txt",
        "POST /signup/{token}",
        "POST /api/public/signup/{token}",
        // The staff console.
        "GET /app",
        "GET /app/{orgSlug}/roles",
        "GET /app/{orgSlug}/roles/{id}",
        "GET /app/{orgSlug}/roles/{id}/decide",
        "POST /app/{orgSlug}/roles/{id}/decide",
        "GET /app/me",
        "POST /app/me/password",
        "POST /app/me/preferences",
        "POST /app/me/sessions/{id}/end",
        "POST /app/me/sessions/end-others",
        "POST /app/sign-out",
        "GET /app/me/second-factor",
        "GET /app/me/authenticator",
        "POST /app/me/authenticator",
        "POST /app/me/authenticator/remove",
        "POST /app/me/recovery-codes",
        "POST /app/confirm",
        "GET /sign-in/code",
        "POST /sign-in/code",
        "GET /assets/console.css",
        "GET /assets/console.js",
        "GET /join/{token}",
        "POST /join/{token}",
        "GET /sign-in",
        "POST /sign-in",
        "GET /app/{orgSlug}/activity",
        "GET /app/{orgSlug}/review",
        "GET /app/{orgSlug}/candidates",
        "GET /app/{orgSlug}/candidates/{id}",
        "GET /app/{orgSlug}/documents/{id}",
        "GET /app/{orgSlug}/documents/{id}/file",
        "GET /app/{orgSlug}/documents/{id}/download",
        "GET /app/{orgSlug}/applications/{id}/hire",
        "POST /app/{orgSlug}/applications/{id}/hire",
        "POST /app/{orgSlug}/applications/{id}/advance",
        "POST /app/{orgSlug}/applications/{id}/move",
        "POST /app/{orgSlug}/applications/{id}/reject",
        "POST /app/{orgSlug}/applications/{id}/reopen",
        "POST /app/{orgSlug}/applications/{id}/undo",
        "POST /app/{orgSlug}/applications/{id}/withdraw",
        "GET /app/{orgSlug}/members",
        "POST /app/{orgSlug}/members",
        "POST /app/{orgSlug}/members/{userId}/role",
        "POST /app/{orgSlug}/members/{userId}/link",
        "POST /app/{orgSlug}/members/{userId}/remove",
        "GET /app/{orgSlug}/roles/new",
        "POST /app/{orgSlug}/roles/new",
        "GET /app/{orgSlug}/roles/new/preview",
        "POST /app/{orgSlug}/roles/new/preview",
        "GET /app/{orgSlug}/roles/{id}/edit",
        "POST /app/{orgSlug}/roles/{id}/edit",
        "GET /app/{orgSlug}/roles/{id}/preview",
        "POST /app/{orgSlug}/roles/{id}/preview",
        "POST /app/{orgSlug}/roles/{id}/open",
        "POST /app/{orgSlug}/roles/{id}/close",
        "POST /app/{orgSlug}/roles/{id}/reopen",
        "POST /app/{orgSlug}/roles/{id}/delete",
        "GET /app/{orgSlug}/roles/{id}/steps",
        "POST /app/{orgSlug}/roles/{id}/steps",
        "POST /app/{orgSlug}/roles/{id}/steps/default",
        "POST /app/{orgSlug}/roles/{id}/steps/{stepId}",
        "POST /app/{orgSlug}/roles/{id}/steps/{stepId}/move",
        "POST /app/{orgSlug}/roles/{id}/steps/{stepId}/remove",
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
}

fn every_route_declares_the_answers_that_its_entry_implies() {
    for route in appliance::http::routes::table().routes() {
        let declares = |status: u16, code: &str| route.answers.contains(&(status, code));
        let route_name = format!("{} {}", route.method, route.path);
        assert!(route.answers.iter().any(|(status, _)| (200..400).contains(status)), "{route_name}");
        let needs_credential = route.access != AccessRule::Open;
        assert!(!needs_credential || (declares(401, "unauthorized") && declares(429, "rate_limited")), "{route_name}");
        let needs_scope = matches!(route.access, AccessRule::Scoped(_) | AccessRule::Admin(_));
        assert_eq!(declares(403, "insufficient_scope"), needs_scope, "{route_name}");
        let is_admin = matches!(route.access, AccessRule::Admin(_));
        assert!(!is_admin || declares(403, "forbidden"), "{route_name}");
        assert_eq!(route.path.starts_with("/api/admin/"), is_admin, "{route_name}");
        assert_eq!(route.path.starts_with("/api/public/"), route.cors(), "{route_name}");
        let pipeline_paths = ["/api/v1/candidate-steps/", "/api/v1/candidate-roles/", "/api/v1/roles/{id}/decisions"];
        let decides =
            pipeline_paths.iter().any(|prefix| route.path.starts_with(prefix)) && !route.path.ends_with("/status-link");
        assert_eq!(route.access == AccessRule::Scoped(Scope::PipelineWrite), decides, "{route_name}");
        let reads_body = declares(413, "payload_too_large") && declares(415, "unsupported_media_type");
        assert_eq!(route.accepts_body, reads_body, "{route_name}");
    }
}
