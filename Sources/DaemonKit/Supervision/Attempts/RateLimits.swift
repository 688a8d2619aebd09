import CurlEngine
import DaemonSetup
import Threading
import TransferCore
import TransferModel

/// Applies the rate limits of the daemon, the sessions and the tasks in the engine.
final class RateLimits: Sendable {
    private let engine: any ExchangePerforming
    private let windows: SessionSchedules
    private let time: any TimeSource
    private let configuration: @Sendable () -> Configuration
    /// Sessions whose time windows have limits, and the limits that apply now.
    private let calendars = Guarded<[SessionKey: (session: SessionRecord, now: Rates)]>([:])
    /// Tasks that have their own limit in the engine.
    private let limited = Guarded(Set<TaskID>())

    private struct Rates: Equatable {
        var download: ByteRate
        var upload: ByteRate
    }

    init(
        engine: any ExchangePerforming, windows: SessionSchedules, time: any TimeSource,
        configuration: @escaping @Sendable () -> Configuration
    ) {
        self.engine = engine
        self.windows = windows
        self.time = time
        self.configuration = configuration
    }

    /// Applies the daemon's own limits as they are configured now.
    func applyGlobal() {
        engine.setRateLimits(global: configuration().global.downloadRateLimit)
        engine.setUploadRateLimits(global: configuration().global.uploadRateLimit)
    }

    func apply(of session: SessionRecord) {
        let rates = rates(of: session, at: time.reading().wall)
        let isCalendar = session.configuration.schedule?.contains(where: \.limitsRates) ?? false
        calendars.withLock {
            $0[session.key] = isCalendar ? (session, rates) : nil
            set(rates, of: session.key)
        }
    }

    private func rates(of session: SessionRecord, at now: Timestamp) -> Rates {
        let configuration = session.configuration
        let open = windows.windows(of: session.key, configuration.schedule ?? [])?
            .rates(at: now, utcOffset: LocalTime.utcOffset)
        return Rates(
            download: .lowest(of: [configuration.downloadRateLimit, open?.download]),
            upload: .lowest(of: [configuration.uploadRateLimit, open?.upload]))
    }

    private func set(_ rates: Rates, of key: SessionKey) {
        engine.setRateLimit(session: key, rates.download)
        engine.setUploadRateLimit(session: key, rates.upload)
    }

    /// Applies the limits of time windows that have begun or ended.
    /// - Returns: milliseconds until the next one may begin or end; nil if there is none with limits.
    func followCalendars(at now: Timestamp) -> Int64? {
        calendars.withLock { known in
            for (key, calendar) in known {
                let rates = rates(of: calendar.session, at: now)
                guard rates != calendar.now else { continue }
                known[key]?.now = rates
                set(rates, of: key)
            }
            // Windows begin and end at whole minutes.
            return known.isEmpty ? nil : 60_000 - now.rawValue % 60_000
        }
    }

    /// Watches committed events: the limits of a session end with it.
    func follow(_ events: [EventRecord]) {
        for event in events where event.type == .sessionInvalidated {
            calendars.withLock {
                $0[event.session] = nil
                set(Rates(download: .unlimited, upload: .unlimited), of: event.session)
            }
        }
    }

    /// Applies the task's own limit in the direction of its bytes.
    func apply(_ rate: ByteRate, of record: TaskRecord) {
        let isKnown = limited.withLock { limited in
            rate > .unlimited
                ? !limited.insert(record.id).inserted : !limited.isEmpty && limited.remove(record.id) != nil
        }
        guard isKnown || rate > .unlimited else { return }
        switch record.spec.kind {
        case .download, .data: engine.setRateLimit(task: record.id, rate)
        case .upload: engine.setUploadRateLimit(task: record.id, rate)
        }
    }
}
