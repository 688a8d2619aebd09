import FoundationEssentials
import Glibc
import NIOConcurrencyHelpers
import NIOHTTP1
import TransferClient
import TransferModel
import TransferRPC

/// What `/metrics` says: dld's figures, and this program's own (the text format of Prometheus, 0.0.4).
final class WebMetrics: Sendable {
    private struct Kind: Hashable {
        var route: String
        var statusClass: Int
    }

    private let requests = NIOLockedValueBox<[Kind: Int]>([:])

    func count(_ route: String, _ status: HTTPResponseStatus) {
        requests.withLockedValue { $0[Kind(route: route, statusClass: Int(status.code / 100)), default: 0] += 1 }
    }

    func text(_ link: DaemonLink, streams: Int, sessions: Int) async -> String {
        var text = await Self.daemon(link)
        text.add("dld_web_streams", .gauge, "Open streams of events.", [.init(Double(streams))])
        text.add("dld_web_sessions", .gauge, "Browsers that are signed in.", [.init(Double(sessions))])
        let counts = requests.withLockedValue { $0 }.sorted {
            ($0.key.route, $0.key.statusClass) < ($1.key.route, $1.key.statusClass)
        }
        text.add(
            "dld_web_requests_total", .counter, "Requests by route and class of status.",
            counts.map { .init(Double($0.value), ["route": $0.key.route, "class": "\($0.key.statusClass)xx"]) })
        for row in Self.process() { text.add(row.name, row.type, row.help, [.init(row.value)]) }
        return text.text
    }

    private static func daemon(_ link: DaemonLink) async -> MetricsText {
        do {
            let info = try await link.call(Methods.daemonInfo, Nothing())
            let stats = try await link.call(Methods.daemonStats, Nothing())
            return MetricsText(info, stats, try await link.call(Methods.daemonMetrics, Nothing()))
        } catch {
            return .away
        }
    }

    /// The standard names of a process's own figures, from proc(5) and getrusage(2).
    private static func process() -> [(name: String, type: MetricsText.Kind, help: String, value: Double)] {
        var rows: [(String, MetricsText.Kind, String, Double)] = []
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        rows.append(
            (
                "process_cpu_seconds_total", .counter, "Processor time of dld-web.",
                seconds(usage.ru_utime) + seconds(usage.ru_stime)
            ))
        let pages = FileManager.default.contents(atPath: "/proc/self/statm").map {
            String(decoding: $0, as: UTF8.self)
        }?
        .split(separator: " ").compactMap { Double($0) }
        if let pages, pages.count > 1 {
            rows.append(
                (
                    "process_resident_memory_bytes", .gauge, "Resident memory of dld-web.",
                    pages[1] * Double(getpagesize())
                ))
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            rows.append(("process_open_fds", .gauge, "Open descriptors of dld-web.", Double(open)))
        }
        rows.append(("process_start_time_seconds", .gauge, "When dld-web started.", startTime))
        return rows
    }

    private static let startTime = Double(Timestamp.now().rawValue) / 1000
    /// Reads the clock once, at the start.
    static func start() { _ = startTime }
}

/// The user database.
enum UserNames {
    /// The name, or the number if it has none.
    static func name(of user: UInt32) -> String {
        getpwuid(user).flatMap { $0.pointee.pw_name }.map { String(cString: $0) } ?? "\(user)"
    }

    /// - Parameter text: a name or a number.
    static func user(_ text: String) -> UInt32? { UInt32(text) ?? getpwnam(text)?.pointee.pw_uid }
}
