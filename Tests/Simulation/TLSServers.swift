import CSimulation
import CurlEngine
import Foundation
import TransferCore
import TransferModel
import TransferRPC

/// The TLS servers of a world. No certificate verifies, keys change, and some servers want a certificate. A request may be
/// sent only with what a client has given in an answer, for its task, its session or all its user's tasks.
final class TLSServers {
    /// What a client has given, or may have given: its answer may be lost.
    private struct Grant: Hashable {
        enum Holder: Hashable {
            case task(TaskID)
            case session(SessionKey)
            /// All tasks but those of ephemeral sessions.
            case user
        }

        var holder: Holder
        var origin: String
        /// Nil stands for the certificate of the client.
        var key: String?
    }

    private struct Server {
        var key = 0
        var wantsCertificate: Bool
    }

    private unowned let world: World
    private var servers: [String: Server] = [:]
    private var grants: Set<Grant> = []
    /// The keys whose trust for good was acknowledged.
    private var acknowledged: Set<Grant> = []
    /// Those that the running daemon knew when it started.
    private var lasting: Set<Grant> = []

    /// Several machines behind one name take turns.
    private static let keys = 0..<3

    init(_ world: World) { self.world = world }

    /// The certificate that clients give.
    var certificate: String { world.folder + "/client.pem" }

    func begin() {
        if !FileManager.default.createFile(atPath: certificate, contents: Data(Self.pem.utf8)) {
            world.violate("\(certificate) cannot be written")
        }
    }

    // MARK: What clients give

    /// A client is about to answer a question.
    func grant(
        _ asked: DecisionView, _ answer: AnswerDecision, in session: SessionKey, isEphemeral: Bool = false
    ) {
        guard let space = asked.question.protectionSpace else { return }
        switch answer.action {
        case .trust:
            grants.insert(Grant(holder: .task(asked.task), origin: space.origin, key: asked.question.key))
            guard answer.persistence != CredentialPersistence.none else { return }
            let lasts = answer.persistence == .permanent && !isEphemeral
            grants.insert(
                Grant(holder: lasts ? .user : .session(session), origin: space.origin, key: asked.question.key))
        case .useCredential where answer.credential?.certificate != nil:
            grants.insert(Grant(holder: .task(asked.task), origin: space.origin, key: nil))
        default: break
        }
    }

    /// The daemon took the answer: trust for good outlives the daemon.
    func acknowledged(_ asked: DecisionView, _ answer: AnswerDecision) {
        guard answer.action == .trust, answer.persistence == .permanent, let space = asked.question.protectionSpace
        else { return }
        acknowledged.insert(Grant(holder: .user, origin: space.origin, key: asked.question.key))
    }

    /// A question shows what the server has shown.
    func check(_ asked: DecisionView) {
        guard let space = asked.question.protectionSpace, space.method == .serverTrust else { return }
        let shown = Self.keys.map { Self.key($0, of: space.origin) }
        if asked.question.key.map(shown.contains) != true || asked.question.certificates?.isEmpty != false {
            world.violate("question \(asked.decision) shows a key that \(space.origin) does not have")
        }
    }

    /// A new session has this name: it trusts no key.
    func forget(_ session: SessionKey) { grants = grants.filter { $0.holder != .session(session) } }

    /// The daemon died: other tasks will have the ids of its volatile tasks.
    func crashed() {
        lasting = acknowledged
        grants = grants.filter { grant in
            guard case .task(let task) = grant.holder else { return true }
            return !task.isVolatile
        }
    }

    // MARK: The handshake

    /// - Returns: How the exchange ends; nil if its request is sent.
    func refusal(of exchange: Exchange, _ context: TransferContext) -> ExchangeOutcome? {
        guard let origin = Self.origin(of: exchange.url) else { return nil }
        var server = servers[origin] ?? Server(wantsCertificate: world.random.chance(300))
        if world.hasBadServers, world.random.chance(400) {
            server.key = world.random.below(Self.keys.count)
        }
        servers[origin] = server
        let (key, decisions) = (Self.key(server.key, of: origin), exchange.network.tls)
        let place = decisions?.places.first { $0.origin == origin }
        let trusted = place?.key?.split(separator: ";").contains { $0 == key } ?? false
        let isUnpinned = world.plant == .unpinned && place?.key != nil
        guard trusted || isUnpinned else {
            let isForgotten = lasting.contains(Grant(holder: .user, origin: origin, key: key))
            if isForgotten, decisions?.isAsked == true, !world.volatiles.isEphemeral(context) {
                world.violate("task \(context.task) does not trust \(origin), whose key its user trusts for good")
            }
            let wish = TLSChallenge.Wish.trust(
                key: key, reason: "self-signed certificate", isAnother: place?.key != nil, certificates: [[0x30, 0]])
            return refused(
                place?.key == nil ? 60 : 90, TLSChallenge(origin: origin, wish), exchange, decisions?.isAsked == true)
        }
        let shows = place?.certificate != nil
        if server.wantsCertificate, !shows, place?.showsNone != true, decisions?.isAsked == true {
            return refused(35, TLSChallenge(origin: origin, .certificate(authorities: [])), exchange, true)
        }
        checkGranted(key, at: origin, context)
        if shows { checkGranted(nil, at: origin, context) }
        return nil
    }

    private func refused(
        _ code: Int, _ challenge: TLSChallenge, _ exchange: Exchange, _ isAsked: Bool
    ) -> ExchangeOutcome {
        var outcome = ExchangeOutcome(
            end: .transport(code: code, message: "self-signed certificate"), offset: exchange.startOffset)
        outcome.wasSent = false
        if isAsked { outcome.tls = challenge }
        world.note("handshake with \(challenge.origin) fails: \(code)")
        return outcome
    }

    private func checkGranted(_ key: String?, at origin: String, _ context: TransferContext) {
        let holders =
            [Grant.Holder.task(context.task), .session(context.session)]
            + (key == nil || world.volatiles.isEphemeral(context) ? [] : [.user])
        let isGranted = holders.contains { grants.contains(Grant(holder: $0, origin: origin, key: key)) }
        world.note("handshake of \(context.task) with \(origin)")
        if !isGranted {
            world.violate(
                "task \(context.task) sends a request to \(origin), and no client "
                    + (key == nil ? "gave it a certificate" : "trusts its key"))
        }
    }

    /// Nil if the request is not encrypted.
    private static func origin(of url: String) -> String? {
        let parts = url.split(separator: "/", maxSplits: 2)
        return parts.first == "https:" && parts.count > 1 ? "https://\(parts[1]):443" : nil
    }

    private static func key(_ number: Int, of origin: String) -> String {
        "sha256//" + Data("\(origin) \(number)".utf8).base64EncodedString()
    }

    /// Of nobody: its key is known to all.
    private static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBaTCCAQ+gAwIBAgIUdfmCw5yopyFTHYeV8i7R4NBJ8AswCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBdTAgFw0yNjExMjYxMDA4MzFaGA8yMTI2MTEwMjEwMDgzMVow
        DDEKMAgGA1UEAwwBdTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABO2ZEXBKIody
        MKKwRzxCl4q2oq5VKxL0iVckn50QGk3M8Wx7g7EcYhaR3cJSnW1z+F8QCJ3nocZk
        m3PjJrZqRUmjTTBLMB0GA1UdDgQWBBRphVu0/lV4K2PIW2genPI2O6PhZjAfBgNV
        HSMEGDAWgBRphVu0/lV4K2PIW2genPI2O6PhZjAJBgNVHRMEAjAAMAoGCCqGSM49
        BAMCA0gAMEUCIQCMhG4R5g3NytM/GOWzYDduUTMazQu2qdyfpgi5Fgm3+wIgbJL3
        huxsBchItr5cAHcH+jJKtd/ysh6+qpcrFn+VwJc=
        -----END CERTIFICATE-----
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGx8TjT17AoZOfYIk
        M3sd9M6lECdGNhMoCil6z3u7P4yhRANCAATtmRFwSiKHcjCisEc8QpeKtqKuVSsS
        9IlXJJ+dEBpNzPFse4OxHGIWkd3CUp1tc/hfEAid56HGZJtz4ya2akVJ
        -----END PRIVATE KEY-----

        """
}
