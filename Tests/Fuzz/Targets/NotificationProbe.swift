import Foundation
import Threading
import TransferNetworking

/// What the daemon says about a data task, as TransferNetworking tells its delegate. Input: each line has a method, a
/// space, and its parameters.
struct NotificationProbe: Probe {
    /// What the delegate was told.
    var told: @Sendable ([String]) -> [String]

    static let target = FuzzTarget(
        "notifications",
        words: [
            "event {\"type\":\"task.", "task.data {\"task\":1000000000000000,\"offset\":", ",\"base64\":\"YWJj\"}",
            "\"task\":1000000000000000", "\"response\":{\"url\":\"http://h/\",\"status\":", "\"headers\":[",
            "[\"Set-Cookie\",\"a=1\"]",
            "completed\"", "failed\"", "cancelled\"", "response\"", "redirected\"", "waiting\"", "decision\"",
            "\"decision\":1",
            "\"kind\":\"redirect\"", "\"kind\":\"challenge\"", "\"kind\":\"cache\"",
            "\"error\":{\"code\":\"network.lost\",\"message\":\"x\"}",
            "\"expectedLength\":-9223372036854775808", "\n",
        ],
        NotificationProbe { $0 },
        // A second end.
        planted: NotificationProbe { lines in lines + lines.filter { $0 == "complete" } })

    /// Notes what it is told.
    private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
        let lines = Guarded<[String]>([])
        private func note(_ line: String) { lines.withLock { $0.append(line) } }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            note("response")
            completionHandler(.allow)
        }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            note("data \(data.count)")
        }
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) { note("metrics") }
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            note("complete")
        }
    }

    func check(_ input: [UInt8]) throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.daemonSocket = "/nonexistent"
        configuration.httpCookieStorage = nil
        let delegate = Delegate()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: URLRequest(url: URL(fileURLWithPath: "/")))
        session.rehearse(
            task,
            input.split(separator: 10).prefix(100).compactMap { line in
                line.firstIndex(of: 32).map { space in
                    (String(decoding: line[..<space], as: UTF8.self), Array(line[line.index(after: space)...]))
                }
            })
        let lines = told(delegate.lines.withLock { $0 })
        try hold(lines.count { $0 == "complete" } <= 1, "two ends: \(lines)")
        if let end = lines.firstIndex(of: "complete") {
            try hold(end == lines.count - 1 && end > 0 && lines[end - 1] == "metrics", "the end is not last: \(lines)")
            try hold(task.state == .completed, "a task that has ended is \(task.state)")
        }
        let bytes = lines.reduce(0) { $0 + ($1.hasPrefix("data ") ? Int64($1.dropFirst(5)) ?? 0 : 0) }
        try hold(bytes == task.countOfBytesReceived, "\(bytes) of \(task.countOfBytesReceived) bytes")
        if let first = lines.firstIndex(where: { $0.hasPrefix("data ") }) {
            try hold(lines[..<first].contains("response"), "bytes without a response: \(lines)")
        }
    }
}
