import TransferModel

/// What becomes of a redirect.
package enum RedirectRule: Sendable, Hashable {
    case follow
    /// The exchange ends with it: a client is asked.
    case ask
    /// It is the answer.
    case refuse
    /// One with this status was refused, and the request must not be made again.
    case answered(status: Int)
}

/// Which answers wait at their heads for a client's decision: those that a task would take.
package struct ResponseHold: Sendable, Hashable {
    package var acceptsAnyStatus: Bool
    package var asksChallenges: Bool

    package init(acceptsAnyStatus: Bool, asksChallenges: Bool) {
        self.acceptsAnyStatus = acceptsAnyStatus
        self.asksChallenges = asksChallenges
    }

    package func applies(to head: ResponseHead) -> Bool {
        guard let status = head.status else { return false }
        if (200..<300).contains(status) || status == 304 { return true }
        return acceptsAnyStatus && !(asksChallenges && ProtectionSpace.isAskedFor(head))
    }
}

/// One request on the network (or one local copy), described completely: the engine performs it and decides nothing.
package struct Exchange: Sendable {
    package enum Kind: Sendable {
        /// Fetch bytes into the part file from `startOffset` on.
        case download
        /// Learn size and modification time only (FTP, SFTP).
        case probe
        /// Send `payload` (or nothing) and keep the answer's body in memory, up to `responseLimit`. FTP and SFTP: store
        /// the payload in the remote file, from `startOffset` on where that is not 0 (append), else replacing it.
        case request
    }

    package var kind: Kind = .download
    package var url: String
    package var method: String?
    /// The caller's fields, in order; HTTP only. Of these only the harmless ones follow a redirect to another origin.
    package var headers: [HeaderField] = []
    /// The transfer protocol's own fields, without which the request would be another one: they go wherever it goes.
    package var ownHeaders: [HeaderField] = []
    /// Request body, streamed. Its length becomes Content-Length. Probes, and downloads over other protocols than HTTP,
    /// send none.
    package var payload: Payload = .none
    /// Digests of the payload or the source; whoever performs the exchange computes them and adds their fields.
    package var digests: [PayloadDigest] = []
    /// `request`: bytes of the answer's body to keep; the rest is read and dropped.
    package var responseLimit: ByteCount = .kibibytes(64)
    /// `request`: end the exchange as `finished`, with `isBodyTruncated`, as soon as the answer is over its limit.
    package var stopsAtResponseLimit = false
    /// `request`: the answer's body is wanted without its content codings; whoever performs the exchange undoes them
    /// (`AnswerBody`).
    package var decodesBody = false
    /// Ask the server with `Expect: 100-continue` before the body is sent, however small it is; large ones are asked for
    /// anyway (`ExpectationRules`). A 417 is answered by sending again without.
    package var expectsContinue = false
    /// The payload may be sent again to the target of a 307 or 308.
    package var isReplayable = true
    /// Redirect statuses that are an answer of the protocol and not followed (308 of the contentRange protocol).
    package var finalStatuses: Set<Int> = []
    package var redirects = RedirectRule.follow
    /// Which answers a client is asked about before a byte of their bodies is taken; nil for none.
    package var hold: ResponseHold?
    /// Reads 1xx answers while the exchange runs, so that what they say is stored before the end.
    package var interimReader: (any InterimReader)?
    /// FTP (REST), SFTP and file: where to start reading; HTTP says it in `headers`. Bytes are written from here
    /// unless the judge says otherwise.
    package var startOffset: ByteCount = 0
    @Boxed package var network: NetworkOptions
    /// Judges each answer before its first body byte reaches the file; called on the engine's thread, so pure and quick.
    package var judge: any ResponseJudge

    package init(
        url: String, judge: any ResponseJudge, network: Boxed<NetworkOptions> = Boxed(wrappedValue: NetworkOptions())
    ) {
        self.url = url
        self.judge = judge
        _network = network
    }

    /// Everything that goes into the request's head.
    package var allHeaders: [HeaderField] { headers + ownHeaders }
}
