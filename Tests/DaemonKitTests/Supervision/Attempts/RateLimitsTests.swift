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
        let rates = RateLimits(engine: engine, windows: SessionSchedules(), time: ManualTime()) { configuration }
        let (now, key) = (Timestamp(milliseconds: 0), SessionKey(owner: UserID(1), identifier: "s"))
        var session = SessionRecord(key: key, createdAt: now)
        session.configuration.downloadRateLimit = ByteRate(5)
        session.configuration.uploadRateLimit = ByteRate(6)
        rates.apply(of: session)
        #expect(engine.limits.withLock { $0[key]?.down } == ByteRate(5))
        rates.follow([EventRecord(time: now, type: .sessionInvalidated, session: key)])
        #expect(engine.limits.withLock { $0[key].map { $0.down == .unlimited && $0.up == .unlimited } } == true)
    }

    /// The lower of the session's own limit and that of the open windows counts, and changes when a window does.
    @Test func limitsFollowTheCalendar() throws {
        let (engine, time) = (Engine(), ManualTime())
        let configuration = try ConfigurationFixture().loader.load()
        let rates = RateLimits(engine: engine, windows: SessionSchedules(), time: time) { configuration }
        let key = SessionKey(owner: UserID(1), identifier: "s")
        func text(_ hours: Double) -> String {
            let date = time.reading().wall.advanced(by: Seconds(hours * 3600))
            let minute = (Int(date.rawValue / 1000) + LocalTime.utcOffset(date)) / 60 % 1440
            return [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        }
        var (slow, fast) = (ScheduleWindow(begin: text(0), end: text(1)), ScheduleWindow(begin: text(1), end: text(2)))
        (slow.downloadRateLimit, slow.uploadRateLimit) = (5, 50)
        fast.downloadRateLimit = 40
        var session = SessionRecord(key: key, createdAt: time.reading().wall)
        session.configuration.schedule = [slow, fast]
        session.configuration.downloadRateLimit = 30
        session.configuration.uploadRateLimit = 20
        func limits() -> [ByteRate?] { engine.limits.withLock { [$0[key]?.down, $0[key]?.up] } }
        rates.apply(of: session)
        #expect(limits() == [5, 20])
        let wait = try #require(rates.followCalendars(at: time.reading().wall))
        #expect((time.reading().wall.rawValue + wait) % 60_000 == 0 && wait > 0)
        time.advance(3600)
        _ = rates.followCalendars(at: time.reading().wall)
        #expect(limits() == [30, 20])
        session.configuration.schedule = nil
        rates.apply(of: session)
        #expect(rates.followCalendars(at: time.reading().wall) == nil)
        session.configuration.schedule = [slow]
        rates.apply(of: session)
        rates.follow([EventRecord(time: time.reading().wall, type: .sessionInvalidated, session: key)])
        #expect(limits() == [.unlimited, .unlimited] && rates.followCalendars(at: time.reading().wall) == nil)
    }
}
