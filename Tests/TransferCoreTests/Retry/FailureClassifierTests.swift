import Glibc
import Testing
import TransferModel

@testable import TransferCore

struct FailureClassifierTests {
    private func classify(
        _ end: ExchangeOutcome.End, proxyStatus: Int? = nil, proxy: String? = nil
    ) -> AttemptFailure {
        var outcome = ExchangeOutcome(end: end, proxyStatus: proxyStatus)
        outcome.proxy = proxy
        return FailureClassifier.classify(outcome, url: "https://u:secret@example.org/f?key=1")
    }

    private func transport(_ code: Int, _ message: String = "text") -> AttemptFailure {
        classify(.transport(code: code, message: message))
    }

    @Test func aHelpersURLNeedsNoHost() {
        #expect(FailureClassifier.host(of: "pool:name") == "the helper for pool")
        #expect(FailureClassifier.host(of: "pool://place/name") == "place")
        #expect(FailureClassifier.host(of: "http://h.example/") == "h.example")
    }

    @Test func onlyAWholeRedirectIsKept() {
        var outcome = ExchangeOutcome(
            end: .stopped(.redirect(StandingRequest(TaskRequest(url: "http://b.example/")))),
            head: ResponseHead(url: "http://a.example/", status: 302))
        outcome.body = Array("moved".utf8)
        #expect(FailureClassifier.classify(outcome, url: "http://a.example/").redirectBody == Array("moved".utf8))
        outcome.isBodyTruncated = true
        #expect(FailureClassifier.classify(outcome, url: "http://a.example/").redirectBody == nil)
    }

    @Test func aFailureAfterARedirectNamesTheServerThatFailed() {
        var outcome = ExchangeOutcome(end: .transport(code: 6, message: "text"))
        outcome.redirectedTo = "http://elsewhere:81"
        let error = FailureClassifier.classify(outcome, url: "https://example.org/f").error
        #expect(
            error.message == "The name elsewhere does not resolve; check the URL. "
                + "example.org redirected the request to http://elsewhere:81.")
        #expect(error.details["redirectedTo"] == "http://elsewhere:81")
        outcome.end = .stopped(.failure(TransferError(.httpStatus, "404"), retryAfter: nil))
        #expect(FailureClassifier.classify(outcome, url: "https://example.org/f").error.message == "404")
    }

    @Test(arguments: [
        (5, ErrorCode.networkDNS), (6, .networkDNS), (7, .networkConnect), (16, .networkLost), (18, .networkLost),
        (28, .networkTimeout), (42, .networkTimeout), (35, .tlsFailed), (52, .networkLost), (55, .networkLost),
        (56, .networkLost), (92, .networkLost), (95, .networkLost),
    ])
    func transientCodes(_ curl: Int, _ code: ErrorCode) {
        let failure = transport(curl)
        #expect(failure.error.code == code)
        #expect(failure.disposition == .transient(after: nil))
        #expect(failure.error.retryable)
        #expect(failure.error.details["curl"] == .integer(Int64(curl)))
    }

    @Test(arguments: [
        (51, ErrorCode.tlsUntrusted), (60, .tlsUntrusted), (77, .tlsUntrusted), (90, .tlsUntrusted), (58, .tlsFailed),
        (1, .badURL), (3, .badURL), (47, .httpRedirectLimit), (67, .authRequired), (9, .authRequired),
        (78, .httpStatus), (37, .sourceUnreadable), (8, .httpProtocol), (94, .authFailed), (4, .unsupported),
        (999, .httpProtocol),
    ])
    func permanentCodes(_ curl: Int, _ code: ErrorCode) {
        let failure = transport(curl)
        #expect(failure.error.code == code)
        #expect(failure.disposition == .permanent)
    }

    private func answered(_ curl: Int, _ reply: String) -> AttemptFailure {
        var outcome = ExchangeOutcome(end: .transport(code: curl, message: "text"))
        outcome.reply = reply
        return FailureClassifier.classify(outcome, url: "ftp://example.org/f")
    }

    /// RFC 959 section 4.2: codes that begin with 4, and the greeting 120, are temporary.
    @Test(arguments: [
        (19, "450 busy", true), (19, "425 no", true), (19, "553 no", false), (13, "425 no", true),
        (13, "500 no", false),
        (8, "120 wait", true), (8, "431 no", true), (8, "500 OOPS", false), (25, "452 x", true), (25, "553 x", false),
    ])
    func whatAnFTPServerRefusesForNowIsTriedAgain(_ curl: Int, _ reply: String, _ isTransient: Bool) {
        let failure = answered(curl, reply)
        #expect(failure.disposition == (isTransient ? .transient(after: nil) : .permanent))
        #expect(failure.error.retryable == isTransient)
        #expect(
            failure.error.message.hasSuffix("It said: \(reply)") && failure.error.details["reply"] == .string(reply))
    }

    @Test(arguments: [
        (28, "421 There are too many connected users, please try again later."), (28, "421 no"),
        (67, "530 Sorry, too many connections"),
        (67, "530 The maximum number of clients is reached"), (67, "530 Please try again later"),
        (28, "421 Service not available"),
    ])
    func anFTPServerWithoutASessionLeftIsWaitedFor(_ curl: Int, _ reply: String) {
        let failure = answered(curl, reply)
        #expect(failure.error.code == .httpStatus && failure.error.retryable)
        #expect(failure.disposition == .transient(after: 5))
        #expect(HostGates.Report(failure) == .throttled(retryAfter: 5))
        #expect(failure.error.message.contains(reply))
    }

    @Test(arguments: [
        (67, "530 Login incorrect.", ErrorCode.authRequired), (67, "530 Login incorrect, try again.", .authRequired),
        (67, "530 For registered users only", .authRequired), (67, "430 Invalid username", .authRequired),
        (67, "530 User cannot log in", .authRequired), (9, "550 Failed to change directory.", .httpStatus),
        (78, "550 no such file", .httpStatus),
    ])
    func theReplyOfAnFTPServerSaysWhatIsWrong(_ curl: Int, _ reply: String, _ code: ErrorCode) {
        let failure = answered(curl, reply)
        #expect(failure.error.code == code && failure.disposition == .permanent)
        #expect(failure.error.message.hasSuffix("It said: \(reply)"))
    }

    @Test func aReplyIsNoCauseOfABrokenConnection() {
        #expect(answered(28, "550 SIZE is not allowed").error.message == "example.org was silent for too long.")
        let failure = answered(56, "550 SIZE is not allowed")
        #expect(failure.error.code == .networkLost && failure.error.message == "The connection to example.org broke.")
    }

    @Test(arguments: [
        (1, "Received HTTP/0.9 when not allowed"), (1, "Unsupported HTTP version (9.9) in response"),
        (56, "Too large response headers: 307676 > 307200"), (27, "Out of memory"), (100, "too large"),
    ])
    func anAnswerThatIsNoHTTPIsTheServersFault(_ curl: Int, _ message: String) {
        let failure = transport(curl, message)
        #expect(failure.error.code == .httpProtocol)
        #expect(failure.disposition == .permanent)
    }

    @Test(arguments: [
        "Illegal or missing hexadecimal sequence in chunked-encoding", "chunk hex-length char not a hex digit: 0x7a",
    ])
    func brokenChunksAreNamed(_ reason: String) {
        let failure = transport(56, reason)
        #expect(failure.error.code == .networkLost && failure.disposition == .transient(after: nil))
        #expect(failure.error.message == "example.org sent a body whose chunked coding is broken (\(reason)).")
        #expect(transport(56, "Recv failure").error.message == "The connection to example.org broke.")
    }

    @Test func anUnreachableHostWaitsForTheNetwork() {
        for text in ["Network is unreachable", "No route to host", "network is down"] {
            #expect(transport(7, "Failed to connect: \(text)").disposition == .network)
        }
        #expect(transport(7, "Connection refused").disposition == .transient(after: nil))
    }

    @Test func aProxyThatRefusesSpeaksForItself() {
        #expect(classify(.transport(code: 56, message: ""), proxyStatus: 407).error.code == .authRequired)
        #expect(classify(.transport(code: 56, message: ""), proxyStatus: 403).disposition == .permanent)
        #expect(classify(.transport(code: 56, message: ""), proxyStatus: 503).disposition == .transient(after: nil))
        #expect(transport(97, "User was rejected by the SOCKS5 server").error.code == .authRequired)
        let demand = [HeaderField("Proxy-Authenticate", "Basic realm=\"x\"")]
        for (url, isProxy) in [("http://a/", true), ("https://a/", false)] {
            // Through a tunnel the answer comes from the server itself, whatever its status is.
            let head = ResponseHead(url: url, status: 407, headers: demand)
            var outcome = ExchangeOutcome(
                end: .stopped(.failure(TransferError(.authRequired, ""), retryAfter: nil)), head: head)
            outcome.proxy = "p:8080"
            let failure = FailureClassifier.classify(outcome, url: url)
            #expect((failure.challenge != nil) == isProxy, "\(url)")
            outcome.proxy = nil
            let alone = FailureClassifier.classify(outcome, url: url)
            #expect(
                alone.error.code == .httpStatus && alone.disposition == failure.disposition)
            #expect(
                alone.error.message == "a answered 407, the status of a proxy, but no proxy was used; check the URL.")
        }
        #expect(transport(97, "Can't complete SOCKS5 connection").disposition == .transient(after: nil))
    }

    @Test(arguments: [
        (5, "Could not resolve proxy: p", ErrorCode.networkDNS), (7, "Failed to connect to p port 9", .networkConnect),
        (28, "Failed to connect to p port 9 after 5 ms: Timeout was reached", .networkTimeout),
        (28, "Operation timed out", .networkTimeout), (56, "Proxy CONNECT aborted", .networkConnect),
        (97, "SOCKS5: no answer", .networkConnect), (97, "User was rejected by the SOCKS5 server", .authRequired),
        (7, "p: Network is unreachable", .networkConnect), (52, "Empty reply", .networkLost),
    ])
    func aDeadProxyIsNamed(_ curl: Int, _ message: String, _ code: ErrorCode) {
        let failure = classify(.transport(code: curl, message: message), proxy: "p:9")
        #expect(failure.error.code == code)
        #expect(failure.error.message.contains("proxy p:9"), "\(failure.error.message)")
        #expect(failure.error.details["proxy"] == "p:9")
    }

    @Test func aProxyThatAnswersOrIsSilentIsNamed() {
        let refused = classify(.transport(code: 56, message: ""), proxyStatus: 403, proxy: "p:9")
        #expect(refused.error.message.hasPrefix("The proxy p:9 answered 403"))
        #expect(classify(.stalled, proxy: "p:9").error.message.contains("proxy p:9"))
    }

    @Test(arguments: [
        ("SSL certificate problem: certificate has expired", CertificateFault.expired, "has expired"),
        ("SSL certificate problem: certificate is not yet valid", .notYetValid, "is not valid yet"),
        ("SSL certificate problem: certificate revoked", .revoked, "was revoked"),
        ("SSL: no alternative certificate subject name matches target host name 'h'", .wrongName, "does not name"),
        ("SSL certificate problem: self-signed certificate", .selfSigned, "is self-signed"),
        ("SSL certificate problem: self signed certificate in certificate chain", .selfSigned, "is self-signed"),
        ("SSL certificate problem: unable to get local issuer certificate", .unknownIssuer, "does not trust"),
        ("SSL certificate problem: EE certificate key too weak", .weak, "too weak"),
    ])
    func aCertificateFaultSaysWhatIsWrong(_ message: String, _ fault: CertificateFault, _ words: String) {
        let failure = transport(60, message)
        #expect(failure.error.code == .tlsUntrusted && failure.disposition == .permanent)
        #expect(failure.error.message.contains(words), "\(failure.error.message)")
        #expect(failure.error.details["certificate"] == .string(fault.rawValue))
    }

    /// The messages may contain any word.
    @Test(arguments: [
        ("unable to get local issuer certificate, expired.example.org", "expired.example.org", "unknown_issuer"),
        ("expired.example.org:443: self-signed certificate", "expired.example.org", "self_signed"),
        (
            "no alternative certificate subject name matches target host name 'revoked.example.org'",
            "revoked.example.org", "wrong_name"
        ),
        ("the \"expired\" one: self-signed certificate", "h", "self_signed"),
        ("couldn't verify 'revoked': certificate has expired", "h", "expired"),
    ])
    func namesInItsMessageAreNoFaults(_ message: String, _ host: String, _ fault: String) {
        let failure = FailureClassifier.untrusted(message, host: host)
        #expect(failure.error.details["certificate"] == .string(fault))
    }

    @Test func aFileThatIsAnnouncedTooLongBlamesNoLimitWithoutOne() {
        #expect(!FileSizeLimit.announced(limit: nil).contains("ulimit"))
        #expect(FileSizeLimit.announced(limit: 4096).contains("4096 bytes"))
        let failure = FailureClassifier.local(errno: EFBIG, operation: "fallocate")
        #expect(failure.error.message == FileSizeLimit.announced())
    }

    @Test func theFileSizeLimitIsNamedOnlyIfThereIsOne() {
        let limited = FileSizeLimit.sentence(limit: 1_048_576, otherwise: "elsewhere.")
        #expect(limited.contains("1048576 bytes") && limited.contains("ulimit -f") && limited.contains("LimitFSIZE="))
        #expect(FileSizeLimit.sentence(limit: nil, otherwise: "elsewhere.").contains("file system"))
    }

    @Test(arguments: [
        (ENOSPC, ErrorCode.diskFull), (EDQUOT, .diskQuota), (EIO, .diskIO), (EROFS, .diskIO), (ENOENT, .diskIO),
        (ESTALE, .diskIO), (ENODEV, .diskIO),
    ])
    func localErrorsWaitForTheDisk(_ errno: Int32, _ code: ErrorCode) {
        let failure = classify(.local(errno: errno, operation: "write the part file"))
        #expect(failure.error.code == code)
        #expect(failure.disposition == .disk)
        #expect(failure.error.details["errno"] == .integer(Int64(errno)))
    }

    @Test func aNameThatAFileSystemRefusesStaysRefused() {
        for (errno, operation) in [(EINVAL, "open"), (ENAMETOOLONG, "open"), (EILSEQ, "open")] {
            let failure = classify(.local(errno: errno, operation: operation))
            #expect(failure.error.code == .destinationBadPath)
            #expect(failure.disposition == .permanent)
        }
        #expect(classify(.local(errno: EINVAL, operation: "pwrite")).disposition == .disk)
    }

    @Test func aFileThatIsTooLongIsToldOfTheLimit() {
        let failure = classify(.local(errno: EFBIG, operation: "pwrite"))
        let cause = FileSizeLimit.current == nil ? "file system" : "ulimit -f"
        #expect(failure.error.message.contains(cause), "\(failure.error.message)")
    }

    @Test func rightsAndSizesDoNotClearThemselves() {
        for errno in [EACCES, EPERM, EFBIG] {
            let failure = classify(.local(errno: errno, operation: "write the part file"))
            #expect(failure.error.code == .destinationNotWritable)
            #expect(failure.disposition == .permanent)
            #expect((failure.error.details["tooLarge"] == true) == (errno == EFBIG))
        }
        let source = classify(.local(errno: ENOENT, operation: "open the source"))
        #expect(source.error.code == .sourceUnreadable)
        #expect(source.disposition == .permanent)
        for errno in [EIO, EMFILE, ENFILE, ENOMEM] {
            let passing = classify(.local(errno: errno, operation: "open the source"))
            #expect(passing.disposition == .transient(after: nil))
        }
    }

    @Test func otherEndings() {
        #expect(classify(.stalled).error.code == .networkTimeout)
        #expect(classify(.stalled).error.message == "example.org did not answer in time.")
        var outcome = ExchangeOutcome(end: .stalled)
        outcome.head = ResponseHead(url: "http://h/f", status: 200)
        #expect(
            FailureClassifier.classify(outcome, url: "http://h/f").error.message == "h sent nothing for too long.")
        #expect(classify(.overrun).error.code == .integrityLength)
        let refused = TransferError(.httpRedirectLimit, "Too many.")
        #expect(classify(.refusedRedirect(refused)) == AttemptFailure(error: refused, disposition: .permanent))
        let failed = TransferError(.httpStatus, "Busy.", retryable: true)
        #expect(
            classify(.stopped(.failure(failed, retryAfter: 30)))
                == AttemptFailure(error: failed, disposition: .transient(after: 30)))
    }

    @Test func sentencesKeepSecretsAndEndWell() {
        for code in 1...98 {
            let message = transport(code).error.message
            #expect(!message.contains("secret") && !message.contains("key=1"))
            #expect(message.first?.isUppercase == true || message.hasPrefix("example.org"), "\(message)")
        }
    }
}
