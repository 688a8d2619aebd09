import DaemonSetup
import Logging
import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct HSTSKeeperTests {
    private static let (anna, bert) = (UserID(7), UserID(8))
    private static let session = SessionKey(owner: anna, identifier: "s")

    private let folder: TemporaryFolder
    private let store: TransferStore
    private let keepers: Keepers
    private var keeper: HSTSKeeper { keepers.hsts }

    init() throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        keepers = Keepers(store: store, logger: Logger(label: "test"))
    }

    private func task(
        _ kind: SessionKind = .default, of session: SessionKey = session, _ hsts: Bool? = nil
    ) -> TaskHSTS? {
        var configuration = SessionConfiguration()
        configuration.hsts = hsts
        return keeper.hosts(of: session, EffectivePolicy(session: configuration, kind: kind))
    }

    private func reopened() async throws -> HSTSKeeper {
        let keeper = HSTSKeeper(store: store)
        try await keeper.kept.load()
        return keeper
    }

    @Test func eachKindHasItsHosts() throws {
        try #require(task(.default)).receive("max-age=1000", from: "a.org")
        try #require(task(.ephemeral)).receive("max-age=1000", from: "b.org")
        #expect(task(.background) == nil && task(.default, false) == nil)
        let background = try #require(task(.background, true))
        #expect(background.isKnown("a.org") && !background.isKnown("b.org"))
        let ephemeral = try #require(task(.ephemeral))
        #expect(!ephemeral.isKnown("a.org") && ephemeral.isKnown("b.org"))
        let other = try #require(task(.ephemeral, of: SessionKey(owner: Self.anna, identifier: "other")))
        #expect(!other.isKnown("b.org"))
        let bert = try #require(task(.default, of: SessionKey(owner: Self.bert, identifier: "s")))
        #expect(!bert.isKnown("a.org") && keeper.list(.shared(Self.bert)).isEmpty)
    }

    /// When the store has stored the changes, a new daemon knows the same hosts, but none of an ephemeral session.
    @Test func whatOwnersLearnedIsReadAgain() async throws {
        try #require(task()).receive("max-age=1000; includeSubDomains", from: "a.org")
        try #require(task()).receive("max-age=1000", from: "gone.org")
        try #require(task()).receive("max-age=0", from: "gone.org")
        try #require(task(.ephemeral)).receive("max-age=1000", from: "b.org")
        let again = try await reopened()
        #expect(again.list(.shared(Self.anna)) == keeper.list(.shared(Self.anna)))
        #expect(again.list(.shared(Self.anna)).map(\.domain) == ["a.org"])
        #expect(try await store.write { try $0.hstsHosts() }.count == 1)
    }

    @Test func whatIsForgottenStaysSo() async throws {
        for host in ["a.org", "b.a.org", "c.org"] { try #require(task()).receive("max-age=1000", from: host) }
        #expect(try await keeper.forget("a.org", in: .shared(Self.bert)) == 0)
        #expect(try await keeper.forget("a.org", in: .shared(Self.anna)) == 2)
        #expect(try await reopened().list(.shared(Self.anna)).map(\.domain) == ["c.org"])
        #expect(try await keeper.forget(nil, in: .shared(Self.anna)) == 1)
        #expect(try await reopened().list(.shared(Self.anna)).isEmpty)
    }

    @Test func anEphemeralSessionEndsWithWhatItLearned() throws {
        try #require(task(.ephemeral)).receive("max-age=1000", from: "b.org")
        #expect(keeper.list(.volatile(Self.session)).count == 1)
        keepers.follow(
            [EventRecord(time: Timestamp(milliseconds: 1), type: .sessionInvalidated, session: Self.session)],
            isVolatile: true)
        #expect(keeper.list(.volatile(Self.session)).isEmpty)
    }

    /// A transfer that ends late, or the ending of an upload, leaves nothing for the next session with the same name.
    @Test func whatComesAfterAnEphemeralSessionIsKeptForNobody() throws {
        let running = try #require(task(.ephemeral))
        keepers.follow(
            [EventRecord(time: Timestamp(milliseconds: 1), type: .sessionInvalidated, session: Self.session)],
            isVolatile: true)
        running.receive("max-age=1000", from: "b.org")
        #expect(running.isKnown("b.org"))
        let policy = EffectivePolicy(session: SessionConfiguration(), kind: .ephemeral)
        let late = try #require(keeper.hosts(of: Self.session, policy, isOver: true))
        late.receive("max-age=1000", from: "c.org")
        #expect(keeper.list(.volatile(Self.session)).isEmpty)
        let next = try #require(task(.ephemeral))
        #expect(!next.isKnown("b.org") && !next.isKnown("c.org"))
    }

    /// Slots and gates of such a task are those of the server that is asked.
    @Test func aKnownHostIsCountedAsTheServerOverHTTPS() throws {
        let known = try #require(task())
        known.receive("max-age=1000", from: "a.org")
        func key(_ url: String) throws -> String { known.hostKey(of: try URLRules.parse(url)) }
        #expect(try key("http://a.org/x") == "https://a.org:443" && key("http://a.org:8080/") == "https://a.org:8080")
        #expect(try key("https://a.org/") == "https://a.org:443" && key("http://b.org/") == "http://b.org:80")
    }

    @Test func aFailureToReachAServerNamesWhoAskedForHTTPS() throws {
        let known = try #require(task())
        known.receive("max-age=1000; includeSubDomains", from: "a.org")
        var failure = failure(TransferError(.tlsFailed, "x.a.org failed.", retryable: true))
        known.explain(&failure, securing: "https://x.a.org:8080/f")
        let error = failure.error
        #expect(error.message.hasPrefix("x.a.org failed. HSTS turned http into https: a.org asked for that, "))
        #expect(error.message.hasSuffix("forget it (hsts.remove)."))
        #expect(error.details["hsts"]?["domain"] == "a.org" && error.details["hsts"]?["learned"]?.stringValue != nil)
        #expect(error.retryable && failure.disposition == .transient(after: nil))
        for other in [TransferError(.httpStatus, "a.org: 404"), TransferError(.tlsFailed, "mirror.org failed.")] {
            var failure = self.failure(other)
            known.explain(&failure, securing: "https://a.org/f")
            #expect(failure == self.failure(other))
        }
    }

    /// The text of a TLS library has no full stop, and may end with a blank.
    @Test func theCauseBeforeItIsMadeASentence() throws {
        let known = try #require(task())
        known.receive("max-age=1000", from: "a.org")
        for text in ["a.org failed: reset ", "a.org failed: reset", "a.org failed: reset."] {
            var failure = failure(TransferError(.tlsFailed, text, retryable: true))
            known.explain(&failure, securing: "https://a.org/f")
            #expect(failure.error.message.hasPrefix("a.org failed: reset. HSTS turned http into https: "), "\(text)")
        }
    }

    private func failure(_ error: TransferError) -> AttemptFailure {
        AttemptFailure(error: error, disposition: .transient(after: nil))
    }

    /// RFC 6797 section 8.4: there is no other way, so another attempt cannot help.
    @Test func aServerWithoutTLSIsNotAskedAgain() throws {
        let known = try #require(task())
        known.receive("max-age=1000", from: "a.org")
        let reason = "TLS connect error: error:0A00010B:SSL routines::wrong version number"
        let error = TransferError(
            .tlsFailed, "a.org failed.", retryable: true, details: ["reason": .string(reason)])
        var failure = failure(error)
        known.explain(&failure, securing: "https://a.org/f")
        #expect(!failure.error.retryable && failure.disposition == .permanent)
    }

    @Test func aURLOfAKnownHostGoesOverHTTPS() throws {
        let known = try #require(task())
        known.receive("max-age=1000", from: "a.org")
        #expect(known.secured("http://u:p@A.org:80/x#y") == "https://a.org/x")
        #expect(known.secured("http://a.org:8080/x?y") == "https://a.org:8080/x?y")
        for url in ["https://a.org/", "ftp://a.org/", "http://b.org/", "nonsense"] {
            #expect(known.secured(url) == nil, "\(url)")
        }
    }
}
