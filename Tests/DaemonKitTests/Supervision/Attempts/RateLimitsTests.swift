import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel

@testable import CurlEngine
@testable import DaemonKit

struct RateLimitsTests {
    /// Notes the limits of sessions.
    private final class Engine: ExchangePerforming {
        let limits = Guarded<[SessionKey: (down: ByteRate, up: ByteRate)]>([:])
        var journal: OffsetJournal? { nil }

        func start(
            _ exchange: Exchange, into part: PartFile?, sending source: UploadSource?, as segment: Segment?,
            context: TransferContext, then report: @escaping @Sendable (ExchangeOutcome) -> Void
        ) -> RunningExchange { RunningExchange {} }

        func board(for part: PartFile, _ checkpoint: Checkpoint?, context: TransferContext) -> PartBoard {
            fatalError("no test asks for a board")
        }

        func setRateLimits(global rate: ByteRate) {}
        func setRateLimit(session: SessionKey, _ rate: ByteRate) {
            limits.withLock { $0[session, default: (.unlimited, .unlimited)].down = rate }
        }
        func setRateLimit(task: TaskID, _ rate: ByteRate) {}
        func setUploadRateLimits(global rate: ByteRate) {}
        func setUploadRateLimit(session: SessionKey, _ rate: ByteRate) {
            limits.withLock { $0[session, default: (.unlimited, .unlimited)].up = rate }
        }
        func setUploadRateLimit(task: TaskID, _ rate: ByteRate) {}
    }

    @Test func theLimitsOfASessionEndWithIt() throws {
        let engine = Engine()
        let configuration = try ConfigurationFixture().loader.load()
        let rates = RateLimits(engine: engine) { configuration }
        let (now, key) = (Timestamp(milliseconds: 0), SessionKey(owner: UserID(1), identifier: "s"))
        var session = SessionRecord(key: key, createdAt: now)
        session.configuration.downloadRateLimit = ByteRate(5)
        session.configuration.uploadRateLimit = ByteRate(6)
        rates.apply(of: session)
        #expect(engine.limits.withLock { $0[key]?.down } == ByteRate(5))
        rates.follow([EventRecord(time: now, type: .sessionInvalidated, session: key)])
        #expect(engine.limits.withLock { $0[key].map { $0.down == .unlimited && $0.up == .unlimited } } == true)
    }
}
