import TransferModel

/// A session's rules for its tasks' cookies.
package struct CookiePolicy: Sendable, Hashable {
    package var storage: CookieStorageKind
    package var accepts: CookieAcceptPolicy
    /// Requests carry stored cookies.
    package var sends: Bool
    /// Before the attempt's first request, a redirect that a client was asked about led from one site to another.
    package var crossedSites = false

    /// - Parameter kind: kind of the session.
    package init(_ session: SessionConfiguration, _ kind: SessionKind = .background) {
        storage = session.httpCookieStorage ?? Self.standard(kind)
        accepts = session.httpCookieAcceptPolicy ?? .always
        sends = session.httpShouldSetCookies ?? true
    }

    private static func standard(_ kind: SessionKind) -> CookieStorageKind {
        switch kind {
        case .background: .task
        case .default: .shared
        case .ephemeral: .session
        }
    }

    /// Whether cookies from a host are accepted.
    /// - Parameter main: host of the task's own URL; evaluated only if the policy needs it.
    package func takes(from host: String, main: @autoclosure () -> String) -> Bool {
        switch accepts {
        case .always: true
        case .never: false
        case .onlyFromMainDocumentDomain: PublicSuffixes.site(of: host) == PublicSuffixes.site(of: main())
        }
    }
}
