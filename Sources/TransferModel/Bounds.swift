/// Limits of members and settings that several places check and several documents state.
///
/// Code that serves every client also reads what one client asks for, so each member has a maximum length.
package enum Bounds {
    // MARK: Seconds

    /// A session's `launchInterval` and its default; up to a year.
    package static let launchInterval: ClosedRange<Double> = 1...31_622_400
    /// A subscriber's `progressInterval`, if it is not 0, and its default.
    package static let progressInterval: ClosedRange<Double> = 0.1...86_400

    /// A task's and a session's timeouts: ten years.
    package static let longestTimeout: Double = 10 * 366 * 86_400
    /// `retry.firstDelay` and `retry.longestDelay`.
    package static let longestDelay: Double = 86_400

    // MARK: Bytes of texts

    package static let url = 16_384
    package static let path = 4095
    package static let fileName = 255
    /// Of sessions, subscribers, tags, client tokens and units.
    package static let name = 255
    package static let description = 4096
    /// Of names and values of a task's attributes together.
    package static let attributeBytes = 4096
    /// `contentType`, `fileName` and `formField`.
    package static let text = 1024
    package static let method = 64
    /// `username`, `password`, `bearer`: what a server accepts in one header line (nginx 8 KiB, Apache 8190 bytes).
    package static let secret = 8192
    /// `match` of `task.list`.
    package static let match = 4096

    // MARK: Bodies

    /// A decoded body may be this many times as long as the coded one; deflate reaches 1,032, brotli and zstd some
    /// millions.
    package static let decodedRatio: Int64 = 200
    /// Bytes that a decoded body may have regardless of the ratio.
    package static let decodedAlways: Int64 = 8 << 20

    // MARK: Numbers of things

    /// Apache's LimitRequestFields; others bound the bytes alone.
    package static let headers = 100
    /// Names and values together. nginx accepts 32 KiB, Node 16 KiB, Apache 800 KB; libcurl sends up to 1 MiB.
    package static let headerBytes = 64 << 10
    /// `formFields` and their names and values.
    package static let formFields = 1000
    package static let formFieldBytes = 1 << 20
    /// Names and values of `uploadMetadata`: they go in a header.
    package static let metadataBytes = 64 << 10
    package static let tags = 64
    package static let mirrors = 64
    /// Of one download.
    package static let connections = 64
    package static let s3Parts = 10_000
    package static let scheduleWindows = 64
    /// `directories` of one session, and the types or names of one of them.
    package static let directories = 64
    /// The arguments of a session's program, and their bytes together.
    package static let arguments = 256
    package static let argumentBytes = 64 << 10

    /// Digests of pieces: enough for a file of 128 GiB in pieces of 4 MiB.
    package static let pieces = 32_768
    /// Hexadecimal digits of all digests together: 32,768 digests of sha-256, or 16,384 of sha-512.
    package static let pieceDigits = 2 << 20
    /// Least length of a piece if there are several: the shortest that BitTorrent uses.
    package static let leastPiece: Int64 = 16 << 10

    // MARK: Lists

    /// Tasks that one call adds.
    package static let tasks = 50_000
    /// Tasks that one call of a control method names, and tasks and sessions of a filter of events.
    package static let ids = 10_000
    /// Bytes of the stored text of all entries of one page.
    package static let pageBytes = 2 << 20
    /// Of one owner, not counting those that have ended.
    package static let sessions = 1000
    /// Tasks of one owner in volatile sessions, including ended ones, and bytes of their bodies.
    package static let volatileTasks = 50_000
    package static let volatileBodies: Int64 = 128 << 20
    /// Programs of sessions that run at the same time: of all owners, and of one.
    package static let launches = 32
    package static let launchesOfUser = 8
    /// Durable names of one owner.
    package static let subscribers = 1000

    // MARK: Cookies

    /// Bytes of a cookie's name and value together, and of one attribute (RFC 6265bis section 5.6).
    package static let cookie = 4096
    package static let cookieAttribute = 1024
    /// Cookies of one registered domain and the names below it; of one task; and of one owner.
    package static let cookiesOfDomain = 180
    package static let cookiesOfTask = 180
    package static let cookies = 3000
    /// Bytes of the Cookie field of one request.
    package static let cookieField = 64 << 10
    /// Bytes of cookies that one owner's waiting tasks keep.
    package static let waitingCookies = 4 << 20

    // MARK: The cache

    /// Bytes of stored answers of one owner, in memory and on disk, regardless of what sessions set; also the limits of
    /// one cache.
    package static let cacheMemoryOfOwner = 64 << 20
    package static let cacheDiskOfOwner = 1 << 30
    /// Stored answers for one URL, so that a server whose answers depend on everything does not fill the cache.
    package static let cacheVariants = 16
    /// Bytes that a stored answer counts with, beside its texts and its body, so that many small ones are bounded too.
    package static let cacheOverhead = 512

    // MARK: Credentials

    /// Of one owner and its sessions.
    package static let credentials = 1000

    // MARK: Transport

    /// `exceptionDomains` of one session.
    package static let exceptionDomains = 1000
    /// Bytes of a Strict-Transport-Security field that is read.
    package static let strictTransportSecurity = 4096
    /// Hosts of one owner, or of one ephemeral session, that are reached over https alone; and those of one registered
    /// domain.
    package static let hstsHosts = 3000
    package static let hstsHostsOfSite = 100

    // MARK: Decisions

    /// Unicode scalars of a realm that is shown.
    package static let realm = 256
    /// Questions that one task asks.
    package static let decisions = 100
    /// Servers and proxies that one task remembers credentials for.
    package static let decisionSpaces = 8
    /// Credentials that one server may refuse before clients are no longer asked for another.
    package static let credentialFailures = 20
    /// Servers whose keys one session trusts, and servers whose keys one user trusts for good.
    package static let trustedKeys = 1000
    /// Trusted keys of one server.
    package static let keysOfServer = 8
    /// Questions in one answer of `decision.list`.
    package static let listedDecisions = 1000

    // MARK: The wire

    /// Bytes of one line.
    package static let line = 8 << 20
    /// A longer line is a long request. Each user has one of them in progress at a time, and all users together have
    /// this many.
    package static let longLine = 1 << 20
    package static let longRequests = 4
    package static let batch = 1000
    package static let nesting = 64
    /// Requests of one connection in progress at the same time.
    package static let requestsInFlight = 64
    /// Read-only requests of one user in progress at the same time, and the bytes that a client may leave unread and
    /// still get its next answer.
    package static let looks = 4
    package static let unreadByLookers = 256 << 10
    /// Bytes that wait for one client before it is disconnected; also the limit of the answers to one batch.
    package static let waitingAnswers = 8 << 20
    /// Bytes that wait to be sent to all clients of one user, before their connections begin no further requests; above
    /// twice as many, connections are closed.
    package static let waitingAnswersOfUser = 64 << 20
    /// The bytes that an event of a volatile session counts as while it waits for its client.
    package static let waitingEvent = 256
    /// Bytes of lines that are incomplete or waiting: of all users, and of one.
    package static let unfinishedLines = 256 << 20
    package static let unfinishedLinesOfUser = 64 << 20
    package static let subscriptions = 64
    /// Bytes of a data task's answer.
    package static let dataAnswer = 16 << 20
    /// Body bytes in one notification of a stream.
    package static let streamPiece = 48 << 10
    /// Exchanges of a task whose metrics are kept; the newest ones.
    package static let metrics = 100
    /// Bytes of each body that `task.get` shows with `secrets`, and of a request's body that is kept after it was sent.
    package static let shownBody = 1 << 20

    /// Whether one task may name this many digests of pieces.
    package static func allows(_ pieces: PieceDigests) -> Bool {
        let count = pieces.values.count
        return (1...self.pieces).contains(count) && count * pieces.algorithm.hexLength <= pieceDigits
            && (count == 1 || pieces.length.rawValue >= leastPiece)
    }

    package static func words(_ range: ClosedRange<Double>) -> String {
        "\(number(range.lowerBound)) to \(number(range.upperBound))"
    }

    private static func number(_ value: Double) -> String { Int64(exactly: value).map { "\($0)" } ?? "\(value)" }
}
