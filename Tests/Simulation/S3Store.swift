import CSimulation
import FileKit
import TestSupport
import TransferCore
import TransferModel

/// One multipart upload at a simulated S3. A client has started it and signed its requests. The requests that the
/// daemon makes with them arrive here.
final class S3Store {
    /// A signed request.
    enum Request: Equatable { case part(Int), completion }

    private struct Part {
        var etag: String
        var bytes: [UInt8]
    }

    /// A request that arrived completely, and is processed when nobody waits for the answer any more.
    private struct Late {
        /// In nanoseconds since boot.
        var due: Int64
        var request: Request
        var body: [UInt8]
    }

    private unowned let world: World
    private unowned let target: UploadTarget
    /// The presigned upload as the task gets it.
    let presigned: S3Upload
    /// When the signatures expire, in nanoseconds since boot.
    private let expiry: Int64
    private var parts: [Int: Part] = [:]
    /// All ETags that a part was ever answered with.
    private var etags: [Int: Set<String>] = [:]
    private var late: [Late] = []
    /// The object that the completion created.
    private(set) var object: [UInt8]?
    /// Whether the upload no longer exists, because it was lost or its client has ended it.
    private var isGone = false
    /// Whether the ETag of a part is a digest, which is the same each time.
    private let makesDigests: Bool
    /// Whether a repeated completion gets the same answer as the first one.
    private var remembersCompletion: Bool

    // MARK: What the daemon knows

    /// Parts that the daemon was told of, but may not have stored yet.
    private var heard: Set<Int> = []
    /// Parts that the daemon has stored before its next request.
    private var known: Set<Int> = []
    /// A completion arrived.
    private var wasAskedToComplete = false
    /// The error codes that were sent.
    private var said: Set<String> = []
    /// A part was answered without its ETag.
    private var hasWithheld = false
    /// The daemon died, so nobody can tell whether its last request has arrived.
    private var daemonHasDied = false

    private static let mostParts = 5

    init(_ world: World, _ target: UploadTarget) {
        self.world = world
        self.target = target
        let size = target.source.contents[target.source.version].count
        let wanted = 1 + world.random.below(Self.mostParts)
        // A file may grow before the daemon looks at it, and must not need more parts than a client has signed.
        let (least, most) = target.source.path == nil ? (1, size) : (25_000, max(size, Source.mostChanged))
        let more = [0, 0, 1, world.random.below(5000)][world.random.below(4)]
        let partSize = max(least, (size + wanted - 1) / wanted + more)
        let count = max(1, (most + partSize - 1) / partSize) + world.random.below(3)
        let hours = world.random.chance(850) ? 168 : 1 + world.random.below(4)
        expiry = sim_now() + Int64(hours) * 3_600_000_000_000
        remembersCompletion = world.random.chance(500)
        makesDigests = world.random.chance(500)
        let signature = String(world.random.next(), radix: 16)
        let rest = "uploadId=u\(signature.prefix(4))&X-Amz-Credential=key%2Fs3&X-Amz-Expires=\(hours * 3600)"
        func sign(_ what: String) -> String { "\(target.url)?\(what)\(rest)&X-Amz-Signature=\(signature)" }
        presigned = S3Upload(
            partURLs: (1...count).map { sign("partNumber=\($0)&") }, partSize: ByteCount(Int64(partSize)),
            completeURL: sign(""))
    }

    private var partSize: Int { Int(presigned.partSize.rawValue) }

    // MARK: Requests

    /// Accepts only signed requests.
    func request(_ method: String, _ url: String) -> Request? {
        if method == "POST", url == presigned.completeURL { return .completion }
        if method == "PUT", let index = presigned.partURLs.firstIndex(of: url) { return .part(index + 1) }
        world.violate("\(method) \(url) was not signed by anybody")
        return nil
    }

    /// Returns the offset of a part in the source.
    func place(of request: Request?) -> Int? {
        switch request {
        case .part(let number)?: (number - 1) * partSize
        case .completion?, nil: nil
        }
    }

    /// Returns the refusal that follows from the header of a request, or nil if the server wants the body.
    func refusal(of request: Request?, _ headers: [HeaderField], length: Int) -> ServerAnswer? {
        settle()
        // The store refuses a request with two kinds of credentials.
        if headers.contains(where: { $0.isNamed("authorization") }) {
            world.violate("\(target.url): a signed request has credentials")
        }
        guard let request else { return error(403, "SignatureDoesNotMatch") }
        switch request {
        case .part(let number): checkPart(number, length: length)
        case .completion:
            known.formUnion(heard)
            wasAskedToComplete = true
        }
        heard = []
        if sim_now() > expiry { return error(403, "AccessDenied", "Request has expired") }
        switch request {
        case .part: return isGone || object != nil ? error(404, "NoSuchUpload") : nil
        case .completion:
            if late.contains(where: { $0.request == .completion }) { return error(409, "OperationAborted") }
            let isKnown = object == nil ? !isGone : remembersCompletion
            return isKnown ? nil : error(404, "NoSuchUpload")
        }
    }

    /// Checks that a part is sent once, and with the signed length.
    private func checkPart(_ number: Int, length: Int) {
        known.formUnion(heard)
        if known.contains(number) { world.violate("\(target.url): part \(number) was there and is sent again") }
        let place = (number - 1) * partSize
        let fits = target.versions.contains { version in
            let size = target.source.contents[version].count
            return (place < size || number == 1) && length == min(partSize, size - place)
        }
        if !fits { world.violate("\(target.url): part \(number) has \(length) bytes") }
    }

    /// A request arrived completely.
    func answer(to request: Request, _ body: [UInt8]) -> ServerAnswer {
        switch request {
        case .part(let number): return ServerAnswer(200, keep(number, body).map { [("ETag", $0)] } ?? [])
        case .completion: return complete(body)
        }
    }

    /// Returns true if the server will act on the request at a later time.
    func actsLate(on request: Request, _ body: [UInt8]) -> Bool {
        guard world.random.chance(400) else { return false }
        late.append(Late(due: sim_now() + Int64(world.random.below(60)) * 1_000_000_000, request: request, body: body))
        return true
    }

    /// Performs the late requests that are due.
    private func settle() {
        let due = late.filter { $0.due <= sim_now() }
        late.removeAll { $0.due <= sim_now() }
        for act in due where !isGone && object == nil { _ = answer(to: act.request, act.body) }
    }

    // MARK: Parts

    /// - Returns: The ETag that is sent, or nil if the store leaves it out.
    private func keep(_ number: Int, _ bytes: [UInt8]) -> String? {
        // Stores other than Amazon's make a new ETag each time.
        let etag = makesDigests ? "\"\(number)-\(bytes.count)\"" : "\"\(world.random.next())\""
        parts[number] = Part(etag: etag, bytes: bytes)
        let dice = world.hazards.contains(.network) ? world.random.below(1000) : 999
        if dice < 4 {
            hasWithheld = true
            return nil
        }
        let told = dice < 20 ? "\"\(world.random.next())\"" : etag
        etags[number, default: []].insert(told)
        return told
    }

    /// Sometimes a store loses a part, the upload, or the fact that it has ended.
    func forgetSomething() {
        if object != nil {
            remembersCompletion = false
        } else if world.random.chance(250) {
            end()
        } else if !parts.isEmpty {
            parts[parts.keys.sorted()[world.random.below(parts.count)]] = nil
        }
    }

    /// AbortMultipartUpload: the client's own request.
    func end() {
        isGone = true
        parts = [:]
        world.note("\(target.url): the upload is gone")
    }

    // MARK: The completion

    private func complete(_ body: [UInt8]) -> ServerAnswer {
        guard let listed = S3Documents.parts(body), !listed.isEmpty, listed.map(\.number) == Array(1...listed.count)
        else {
            world.violate("\(target.url): no list of parts is \(String(decoding: body, as: UTF8.self))")
            return error(400, "MalformedXML")
        }
        if let stray = listed.first(where: { etags[$0.number]?.contains($0.etag) != true }) {
            world.violate("\(target.url): part \(stray.number) never was \(stray.etag)")
        }
        let dice = world.hazards.contains(.network) ? world.random.below(100) : 99
        // The store says 200 before it knows the result.
        if dice < 8 { return error(200, ["InternalError", "SlowDown"][world.random.below(2)], "Try again.") }
        guard object != nil || listed.allSatisfy({ parts[$0.number]?.etag == $0.etag }) else {
            (known, heard) = ([], [])
            return error(400 - 200 * world.random.below(2), "InvalidPart")
        }
        finish(listed.map(\.number))
        return dice < 12 ? error(200, "InternalError", "Done all the same.") : S3Documents.result(&world.random)
    }

    private func finish(_ numbers: [Int]) {
        guard object == nil else { return }
        let bytes = numbers.flatMap { parts[$0]?.bytes ?? [] }
        object = bytes
        parts = [:]
        world.note("\(target.url) is complete")
        if !target.isWhole(bytes) {
            world.violate("\(target.url) was put together of \(bytes.count) bytes that are of no version of its source")
        }
    }

    // MARK: What it says

    private func error(_ status: Int, _ code: String, _ message: String = "No.") -> ServerAnswer {
        said.insert(code)
        return S3Documents.error(status, code, message, &world.random)
    }

    /// The store cannot act now, or does not know whether it has acted.
    func trouble(_ status: Int, _ fields: [(String, String)]) -> ServerAnswer {
        // A proxy in front of the store answers without XML.
        guard world.random.chance(700) else { return ServerAnswer(status, fields) }
        var answer = error(status, status == 500 ? "InternalError" : "SlowDown")
        answer.headers += fields.map { HeaderField($0.0, $0.1) }
        return answer
    }

    // MARK: What became of it

    /// The daemon knows a part once it got the ETag of this answer. An answer that was lost does not count.
    func wasHeard(_ request: Request, _ head: ResponseHead) {
        switch request {
        case .part(let number): if head.headers.contains(where: { $0.isNamed("ETag") }) { heard.insert(number) }
        case .completion: break
        }
    }

    func daemonDied() {
        heard = []
        daemonHasDied = true
    }

    /// Tells whether this failure of a task can come from this upload.
    func explains(_ failure: TransferError) -> Bool {
        if case .string(let code)? = failure.details["s3"] {
            // If the upload may be complete, the task must say so in place of asking for another upload.
            if code == "NoSuchUpload", object != nil, target.renewals == 0 { return false }
            return said.contains(code)
        }
        guard failure.code == .httpProtocol else { return true }
        return hasWithheld || said.contains("NoSuchUpload") && (wasAskedToComplete || daemonHasDied)
    }
}
