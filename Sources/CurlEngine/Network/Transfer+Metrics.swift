import CCurl
import CLinux
import Glibc
import TransferCore
import TransferModel

/// What is noted about one request for the task's metrics. Times are on the reactor's clock, in nanoseconds; 0 means
/// that it has not happened.
struct RequestMarks {
    let began: Int64
    /// The same time on the wall clock: microseconds since 1970.
    let wall: Int64
    /// When the request was put on a connection. If libcurl repeats it by itself, this is set again.
    var requested: Int64 = 0
    /// When the last piece of its body was handed over.
    var sent: Int64 = 0
    var answered: Int64 = 0
    var headEnded: Int64 = 0
    var ended: Int64 = 0
    /// libcurl's times, once the request is on a connection or over. Those of earlier requests on this handle are
    /// included.
    var steps = dld_steps()
    var earlier = dld_steps()
    var requestBytes: Int64 = 0
    var earlierRequestBytes: Int64 = 0
    /// Bytes of the body that libcurl read, and those read without it.
    var received: Int64 = 0
    var ownBytes: Int64 = 0
    /// Bytes of the request's body that had been sent when the answer's header arrived.
    var bodySent: Int64 = 0
    var remote: ExchangeMetrics.Endpoint?
    var local: ExchangeMetrics.Endpoint?
    var tls: ExchangeMetrics.TLS?
    /// The result of `dld_easy_uses_proxy`.
    var usesProxy: Int32 = -1

    init(began: Int64, wall: Int64) {
        self.began = began
        self.wall = wall
    }

    var madeConnection: Bool { steps.connects > earlier.connects }

    /// Microseconds from the beginning to `time`; nil if that is 0.
    func since(_ time: Int64) -> Int64? { time == 0 ? nil : (time - began) / 1000 }
}

extension Transfer {
    /// A request is given to libcurl.
    func beginMeasuring(at now: Int64) {
        // Later requests use the first one's clock reading, so that they follow each other whatever the wall clock
        // does.
        let (began, wall) =
            marks.wall > 0
            ? (marks.began, marks.wall) : (dld_monotonic_nanoseconds(), Timestamp.now().rawValue * 1000)
        marks = RequestMarks(began: now, wall: wall + (now - began) / 1000)
    }

    /// HTTP: the request is sent now, on a connection that is ready.
    func noteRequest(remote: ExchangeMetrics.Endpoint?, local: ExchangeMetrics.Endpoint?) {
        guard let easy else { return }
        marks.requested = dld_monotonic_nanoseconds()
        marks.steps = dld_easy_get_steps(easy)
        (marks.remote, marks.local) = (remote, local)
        noteConnection(easy)
    }

    /// The first line of an answer, or of a dialogue of FTP commands.
    func noteAnswer(_ reactor: Reactor) {
        if request.url.isHTTP {
            marks.answered = reactor.now
        } else if marks.tls == nil, request.url.scheme == "ftps", let easy {
            noteConnection(easy)
        }
    }

    private func noteConnection(_ easy: UnsafeMutableRawPointer) {
        if EasySetup.mayUseProxy(exchange.$network) { marks.usesProxy = dld_easy_uses_proxy(easy) }
        guard request.url.scheme != "http" else { return }
        var (version, cipher): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        guard dld_easy_get_tls(easy, &version, &cipher), let version, let cipher else { return }
        marks.tls = ExchangeMetrics.TLS(version: String(cString: version), cipher: String(cString: cipher))
    }

    /// The request leaves libcurl.
    func noteEnd(_ easy: UnsafeMutableRawPointer, at now: Int64) {
        marks.ended = now
        noteVolume(easy)
        guard marks.requested == 0 else {
            // The times of several requests add up.
            let sent = requestsBegun > 1 ? 0 : dld_easy_get_sent(easy)
            if marks.sent == 0, sent > 0 { marks.sent = marks.began + sent * 1000 }
            return
        }
        marks.steps = dld_easy_get_steps(easy)
        var port = 0
        marks.remote = ExchangeMetrics.Endpoint(dld_easy_get_endpoint(easy, true, &port), port)
        marks.local = ExchangeMetrics.Endpoint(dld_easy_get_endpoint(easy, false, &port), port)
        guard !request.url.isHTTP, marks.steps.ready > 0 else { return }
        // For FTP and SFTP, the commands before the transfer itself count as the request.
        let begins = max(marks.steps.connected, marks.steps.secured)
        marks.requested = marks.began + begins * 1000
        marks.sent = max(marks.sent, marks.began + marks.steps.ready * 1000)
        if marks.steps.answered > 0 { marks.answered = marks.began + marks.steps.answered * 1000 }
    }

    private func noteVolume(_ easy: UnsafeMutableRawPointer) {
        var (requested, received): (Int64, Int64) = (0, 0)
        dld_easy_get_volume(easy, &requested, &received)
        (marks.requestBytes, marks.received) = (requested, received)
    }

    /// libcurl repeats the request itself, after a challenge or on another connection. Everything before that is one
    /// exchange.
    func reportRepetition() {
        guard let easy, marks.requested > 0 else { return }
        let steps = dld_easy_get_steps(easy)
        let now = dld_monotonic_nanoseconds()
        var began = marks.headEnded > 0 ? marks.headEnded : now
        if steps.connects > marks.steps.connects {
            let longest = max(steps.connected - marks.steps.connected, steps.secured - marks.steps.secured)
            began = max(marks.requested, now - longest * 1000)
        }
        noteVolume(easy)
        // By now libcurl no longer knows how much of the body it skipped.
        marks.received = request.effectiveMethod == "HEAD" ? 0 : parser.plainLength ?? 0
        marks.ended = max(marks.headEnded, began)
        report(sent: marks.bodySent, hasFailed: false)
        var next = RequestMarks(began: began, wall: marks.wall + (began - marks.began) / 1000)
        next.earlier = marks.steps
        next.earlierRequestBytes = marks.requestBytes
        marks = next
    }

    /// The current request is over.
    func reportMetrics(after end: ExchangeOutcome.End = .finished) {
        guard marks.ended > 0 else { return }
        let hasFailed: Bool =
            switch end {
            case .transport, .stalled: true
            case .finished, .stopped, .local, .aborted, .overrun, .refusedRedirect: false
            }
        report(sent: sent, hasFailed: hasFailed)
        marks.ended = 0
    }

    private func report(sent bodyBytes: Int64, hasFailed: Bool) {
        var steps = RequestSteps(ended: (marks.ended - marks.began) / 1000)
        steps.queued = marks.steps.queued - marks.earlier.queued
        steps.lookedUp = marks.steps.looked_up - marks.earlier.looked_up
        steps.connected = marks.steps.connected - marks.earlier.connected
        steps.secured = marks.steps.secured - marks.earlier.secured
        steps.madeConnection = marks.madeConnection
        steps.isSecure = request.url.scheme != "http" && request.url.scheme != "ftp"
        steps.requested = marks.since(marks.requested)
        steps.sent = marks.since(marks.sent)
        steps.answered = marks.since(marks.answered)
        steps.hasFailed = hasFailed
        var metrics = ExchangeMetrics(fetchStart: marks.wall)
        metrics.set(steps)
        metrics.transferProtocol = transferProtocol
        metrics.proxy = usedProxy
        (metrics.remote, metrics.local, metrics.tls) = (marks.remote, marks.local, marks.tls)
        metrics.requestHeaderBytes = marks.requestBytes - marks.earlierRequestBytes
        metrics.requestBodyBytes = isSending ? bodyBytes : 0
        metrics.responseHeaderBytes = Int64(headLength)
        metrics.responseBodyBytes = marks.received + marks.ownBytes
        context.observer.transferMeasured(metrics)
    }

    private var transferProtocol: ExchangeMetrics.TransferProtocol? {
        guard request.url.isHTTP else { return ExchangeMetrics.TransferProtocol(rawValue: request.url.scheme) }
        switch parser.httpVersion {
        case "1.1": return .http11
        case "2": return .http2
        case "1.0": return .http10
        case "3": return .http3
        default: return nil
        }
    }

    /// libcurl before 8.7 does not tell: then a connection to the proxy's port counts as one to the proxy.
    private var usedProxy: String? {
        guard marks.usesProxy != 0, EasySetup.mayUseProxy(exchange.$network) else { return nil }
        let named =
            exchange.network.proxy.flatMap { ProxyRules.address($0) }
            ?? ProxyRules.address(
                inEnvironment: { getenv($0).map { String(cString: $0) } }, scheme: request.url.scheme)
        guard let named else { return nil }
        if marks.usesProxy == 1 { return named }
        guard let remote = marks.remote else { return marks.requested == 0 ? named : nil }
        return named.hasSuffix(":\(remote.port)") ? named : nil
    }
}

extension ExchangeMetrics.Endpoint {
    /// nil if libcurl does not tell.
    init?(_ address: UnsafePointer<CChar>?, _ port: Int) {
        guard let address, address.pointee != 0, let port = UInt16(exactly: port), port > 0 else { return nil }
        self.init(String(cString: address), port)
    }
}
