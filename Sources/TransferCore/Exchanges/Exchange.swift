import TransferModel

/// What happens to a redirect.
package enum RedirectRule: Sendable, Hashable {
    case follow
    /// The exchange ends with the redirect, and a client is asked.
    case ask
    /// The redirect is the answer.
    case refuse
    /// A redirect with this status was refused and is the answer: the request is not made again.
    /// - Parameter body: its body; nil if it was not kept.
    case answered(status: Int, body: [UInt8]?)
}

/// Which answers a task would accept; those that a client is asked about wait at their header.
package struct ResponseHold: Sendable, Hashable {
    package var acceptsAnyStatus: Bool
    package var asksChallenges: AskedChallenges

    package init(acceptsAnyStatus: Bool, asksChallenges: AskedChallenges) {
        self.acceptsAnyStatus = acceptsAnyStatus
        self.asksChallenges = asksChallenges
    }

    package func applies(to head: ResponseHead) -> Bool {
        guard let status = head.status else { return false }
        if (200..<300).contains(status) || status == 304 { return true }
        return acceptsAnyStatus && !asksChallenges.include(head)
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
        /// the payload in the remote file. It is appended from `startOffset` on if that is not 0; otherwise it replaces
        /// the file.
        case request
    }

    package var kind: Kind = .download
    package var url: String
    package var method: String?
    /// The caller's fields, in order; HTTP only. Only the harmless ones follow a redirect to another origin.
    package var headers: [HeaderField] = []
    /// The transfer protocol's own fields, which the request needs; they are sent wherever it goes.
    package var ownHeaders: [HeaderField] = []
    /// Request body, streamed. Its length becomes Content-Length. Probes have none, nor do downloads over protocols
    /// other than HTTP.
    package var payload: Payload = .none
    /// Digests of the payload or the source; the code that performs the exchange computes them and adds their fields.
    package var digests: [PayloadDigest] = []
    /// `request`: bytes of the answer's body to keep; the rest is read and dropped.
    package var responseLimit: ByteCount = .kibibytes(64)
    /// `request`: end the exchange as `finished`, with `isBodyTruncated`, as soon as the answer exceeds its limit.
    package var stopsAtResponseLimit = false
    /// `request`: the answer's body is wanted without its content codings; the code that performs the exchange decodes
    /// it (`AnswerBody`).
    package var decodesBody = false
    /// Ask the server with `Expect: 100-continue` before a body of any size is sent; for large bodies, the server is
    /// asked anyway (`ExpectationRules`). After a 417, the request is sent again without it.
    package var expectsContinue = false
    /// Only the answer to a request that carried the payload counts, so a redirect may not drop it.
    package var isUpload = false
    /// The payload may be sent again to the target of a redirect.
    package var isReplayable = true
    /// Redirect statuses that the protocol uses as answers and that are not followed (308 of the contentRange
    /// protocol).
    package var finalStatuses: Set<Int> = []
    package var redirects = RedirectRule.follow
    /// Which answers a client is asked about before any byte of their bodies is accepted; nil for none.
    package var hold: ResponseHold?
    /// Reads 1xx answers (104 Upload Resumption Supported) while the exchange runs, and returns what to store at once;
    /// nil if the answer says nothing new. Called on the engine's thread, so pure and quick.
    package var interimReader: (@Sendable (ResponseHead) -> UploadProgress?)?
    /// FTP (REST), SFTP and file: where to start reading; HTTP says it in `headers`. Bytes are written from here unless
    /// the judge says otherwise.
    package var startOffset: ByteCount = 0
    @Boxed package var network: NetworkOptions
    /// Judges each answer before the first byte of its body reaches the file; called on the engine's thread, so pure
    /// and quick.
    package var judge: any ResponseJudge

    package init(
        url: String, judge: any ResponseJudge, network: Boxed<NetworkOptions> = Boxed(wrappedValue: NetworkOptions())
    ) {
        self.url = url
        self.judge = judge
        _network = network
    }

    /// All fields of the request's header.
    package var allHeaders: [HeaderField] { headers + ownHeaders }
}
