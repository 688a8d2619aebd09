import DaemonSetup
import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// cookies.list, cookies.set and cookies.remove. All concern only the user who asks.
enum CookieHandlers {
    static func register(in table: inout HandlerTable, _ services: Services) {
        table.add(Methods.listCookies) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            let cookies = services.keepers.cookies.list(place).filter { Self.isWithin($0, parameters.domain) }
            return ListedCookies(
                cookies: cookies.map { CookieView($0, secrets: parameters.secrets ?? false) })
        }
        table.add(Methods.setCookies) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            guard parameters.cookies.count <= Bounds.cookies else {
                throw TransferError.bad("cookies", "at most \(Bounds.cookies) in one call.")
            }
            try SpecRules(path: "").check(parameters.cookies)
            let done = try await services.keepers.cookies.set(parameters.cookies, in: place)
            return StoredCookies(
                set: parameters.cookies.count, replaced: done.replaced, unchanged: done.unchanged,
                expired: done.expired, evicted: done.evicted)
        }
        table.add(Methods.removeCookies) { parameters, context in
            let place = try await Self.place(parameters.session, context, services)
            return RemovedCookies(
                removed: try await services.keepers.cookies.remove(in: place) { cookie in
                    Self.isWithin(cookie, parameters.domain) && parameters.path.map { $0 == cookie.path } ?? true
                        && parameters.name.map { $0 == cookie.name } ?? true
                })
        }
    }

    private static func isWithin(_ cookie: Cookie, _ domain: String?) -> Bool {
        guard let domain else { return true }
        let name = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        return HostName.matches(cookie.domain, domain: HostName.ofCookie(name))
    }

    /// - Throws: `session.not_found`, also if the session has ended; `session.in_use`; `request.bad_field` for a
    ///   session without a jar.
    private static func place(
        _ session: String?, _ context: RequestContext, _ services: Services
    ) async throws -> OwnedPlace {
        guard let session else { return .shared(context.peer.uid) }
        let record = try await services.session(session, of: context)
        let key = record.key
        switch CookiePolicy(record.configuration, record.kind).storage {
        case .shared: return .shared(key.owner)
        case .session: return try services.volatile.owns(key, context.connection.id) ? .volatile(key) : .session(key)
        case .task, .none:
            throw TransferError.bad(
                "session", "its tasks share no cookies; set its httpCookieStorage to `session` or `shared`.")
        }
    }
}
