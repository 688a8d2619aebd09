import Foundation
import TestSupport
import Testing
import Threading
import TransferNetworking

/// Each test starts a daemon and moves real bytes: one at a time, beside the other suites.
@Suite(.serialized) struct TransferNetworkingSuite {}

/// A daemon, a server and sessions between them.
final class LibraryScene: Sendable {
    let daemon: DaemonProcess
    let origin: MisbehavingOrigin

    init() async throws {
        daemon = try await .started()
        origin = try MisbehavingOrigin()
    }

    /// A configuration whose sessions use this daemon.
    func configuration(_ configuration: URLSessionConfiguration = .ephemeral) -> URLSessionConfiguration {
        configuration.daemonSocket = daemon.socket
        return configuration
    }

    func session(
        _ configuration: URLSessionConfiguration = .ephemeral, _ delegate: (any URLSessionDelegate)? = nil
    ) -> URLSession {
        URLSession(configuration: self.configuration(configuration), delegate: delegate, delegateQueue: nil)
    }

    func url(_ path: String) throws -> URL {
        guard let url = URL(string: origin.url(path)) else { throw SupportError("no URL: \(path)") }
        return url
    }
}

/// Records every message, one line each, and decides as it is told.
final class Recorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    struct Script: Sendable {
        var disposition = URLSession.ResponseDisposition.allow
        var redirects = true
        /// To the request of a redirect.
        var addsField = false
        var credential: URLCredential?
        var cancelsAtResponse = false
        var stores = true
    }
    struct Values: Sendable {
        var lines: [String] = []
        var body = Data()
        var file: Data?
        var metrics: URLSessionTaskMetrics?
        var error: URLError?
    }
    let script: Script
    private let values = Guarded(Values())

    init(_ script: Script = Script()) { self.script = script }

    var seen: Values { values.withLock { $0 } }
    var lines: [String] { seen.lines }
    /// Whether the delegate has found this in a downloaded file.
    func holds(_ resource: Resource) -> Bool { seen.file.map { identical(Array($0), resource.content.bytes) } ?? false }
    private func note(_ line: String) { values.withLock { $0.lines.append(line) } }

    /// Waits for a line that begins like this.
    func wait(for line: String, within limit: Double = 60) async -> Bool {
        await eventually(within: limit) { self.lines.contains { $0.hasPrefix(line) } }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { note("invalid") }
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { note("events") }
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { note("created") }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note("redirect \(response.statusCode) \(request.httpMethod ?? "") \(request.url?.path ?? "")")
        var request = request
        if script.addsField { request.setValue("yes", forHTTPHeaderField: "X-Own") }
        completionHandler(script.redirects ? request : nil)
        completionHandler(nil)
    }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("challenge \(challenge.protectionSpace.realm ?? "") \(challenge.previousFailureCount)")
        if let credential = script.credential, challenge.previousFailureCount == 0 {
            completionHandler(.useCredential, credential)
        } else {
            completionHandler(.performDefaultHandling, nil)
        }
    }
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note("sent \(totalBytesSent) of \(totalBytesExpectedToSend)")
    }
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        if script.cancelsAtResponse { dataTask.cancel() }
        completionHandler(script.disposition)
    }
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        note("became")
    }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        values.withLock { values in
            if values.body.isEmpty { values.lines.append("data") }
            values.body.append(data)
        }
    }
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        note("cache \(proposedResponse.data.count)")
        completionHandler(script.stores ? proposedResponse : nil)
    }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note("resumed \(fileOffset) of \(expectedTotalBytes)")
    }
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        values.withLock { values in
            values.file = try? Data(contentsOf: location)
            values.lines.append("file")
        }
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        values.withLock { values in
            values.metrics = metrics
            values.lines.append("metrics")
        }
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        values.withLock { values in
            values.error = error as? URLError
            values.lines.append("complete \(values.error?.code.rawValue ?? 0)")
        }
    }
}
