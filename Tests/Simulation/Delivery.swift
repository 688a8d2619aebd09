import CSimulation
import FileKit
import TestSupport
import TransferCore
import TransferModel

/// One request on its way to a simulated server.
final class Delivery {
    private unowned let world: World
    let method: String
    let headers: [HeaderField]
    let target: UploadTarget
    /// The upload that the URL names or that the request creates.
    var upload: UploadTarget.Upload?
    /// The length of the body.
    let length: Int
    /// The offset of the body in the source. Nil if the body is not just a part of the source.
    private let place: Int?
    /// The signed request to an S3 store.
    private let signed: S3Store.Request?
    private(set) var body: [UInt8] = []
    private(set) var taken = 0
    private var isOver = false
    private let isAppend: Bool
    /// The answer that comes before the body is read. Nil if the server wants the body.
    private(set) var refusal: ServerAnswer?

    init(_ world: World, _ exchange: Exchange, _ target: UploadTarget, _ number: Int?, length: Int) {
        self.world = world
        self.target = target
        self.length = length
        method = exchange.method ?? "GET"
        headers = exchange.allHeaders
        signed = target.s3?.request(method, exchange.url)
        place = Self.place(of: exchange, target, signed)
        upload = number.flatMap { $0 < target.uploads.count ? target.uploads[$0] : nil }
        isAppend = length > 0 && number != nil
        refusal = number == nil ? target.s3?.refusal(of: signed, headers, length: length) : refused()
        // The server announces the location of the upload at once (104).
        if number == nil, target.kind == .resumable, method == "POST" {
            upload = target.create(length: count("upload-length"))
        }
        if refusal == nil, length > 0 { upload?.isBusy = true }
    }

    private static func place(of exchange: Exchange, _ target: UploadTarget, _ signed: S3Store.Request?) -> Int? {
        switch target.kind {
        case .form: nil
        case .s3: target.s3?.place(of: signed)
        case .put, .post, .contentRange, .tus, .resumable, .data: Int(exchange.payload.sourceOffset?.rawValue ?? 0)
        }
    }

    func value(_ name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
    func count(_ name: String) -> Int? { value(name).flatMap { Int($0) } }

    /// Returns the refusal that follows from the header of a request to an upload.
    private func refused() -> ServerAnswer? {
        guard let upload, !upload.isLost, !upload.isEnded else {
            return ServerAnswer(world.random.chance(500) ? 404 : 410)
        }
        if upload.isBusy, method != "DELETE" { world.violate("\(target.url) has two requests for one upload at once") }
        guard !upload.isBusy, sim_now() >= upload.lockedUntil else { return ServerAnswer(423) }
        if method != "DELETE" { upload.isKnown = true }
        if let limit = target.limit, length > limit { return ServerAnswer(413, limitFields) }
        guard let wanted = appendOffset, wanted != upload.bytes.count || upload.isComplete else { return nil }
        return ServerAnswer(409, target.kind == .resumable ? [("Upload-Offset", "\(upload.bytes.count)")] : [])
    }

    /// The offset that the request gives for its body. Nil if it has no body.
    private var appendOffset: Int? {
        switch target.kind {
        case .put, .post, .form, .s3, .data: nil
        case .tus, .resumable: method == "PATCH" ? count("upload-offset") : nil
        case .contentRange: rangeBegin
        }
    }

    /// The first number of `bytes a-b/T`.
    private var rangeBegin: Int? {
        value("content-range").flatMap { $0.dropFirst(6).split(separator: "-").first }.flatMap { Int($0) }
    }

    private var limitFields: [(String, String)] {
        guard target.announcesLimit, let limit = target.limit else { return [] }
        return [("Upload-Limit", "max-append-size=\(limit)")]
    }

    // MARK: The body

    func take(_ piece: ArraySlice<UInt8>) {
        guard refusal == nil, !isOver else { return }
        if let place { target.expect(piece, at: place + taken) }
        taken += piece.count
        if let upload { upload.bytes.append(contentsOf: piece) } else { body.append(contentsOf: piece) }
    }

    /// The connection breaks. The server keeps some of the bytes that had arrived.
    func cut() {
        guard !isOver else { return }
        let kept = world.random.chance(400) ? taken : world.random.below(taken + 1)
        // The server has the complete request and acts on it, although nobody gets the answer.
        if refusal == nil, kept == length, taken == length, world.random.chance(500) || isAppend {
            if let signed, target.s3?.actsLate(on: signed, body) == true {
                isOver = true
            } else {
                _ = answer()
            }
            return
        }
        isOver = true
        if target.kind == .put, taken > 0 { target.spoil() }
        guard refusal == nil, let upload, length > 0 else { return }
        upload.bytes.removeLast(taken - kept)
        upload.isBusy = false
        if world.random.chance(200) { upload.lockedUntil = sim_now() + Int64(world.random.below(30)) * 1_000_000_000 }
    }

    /// The server refuses and does nothing. An upload keeps some of the bytes that arrived.
    func refuse() {
        guard !isOver else { return }
        isOver = true
        guard length > 0, let upload else { return }
        upload.bytes.removeLast(world.random.below(taken + 1))
        upload.isBusy = false
    }

    /// Called when an answer has reached the daemon.
    func wasHeard(_ head: ResponseHead) {
        if let signed, let status = head.status, (200..<300).contains(status) { target.s3?.wasHeard(signed, head) }
    }

    /// The answer of a server that cannot act now, or does not know whether it has acted.
    func trouble(_ status: Int, _ fields: [(String, String)] = []) -> ServerAnswer {
        guard let s3 = target.s3 else { return ServerAnswer(status, fields) }
        return s3.trouble(status, fields)
    }

    /// Whether the server may answer before all bytes have arrived, and report how many did.
    var mayEndEarly: Bool {
        switch target.kind {
        case .put, .post, .form, .s3, .data: false
        case .tus, .resumable, .contentRange: true
        }
    }

    // MARK: The answer

    /// Returns the answer to everything that has arrived.
    func answer() -> ServerAnswer {
        isOver = true
        if refusal == nil, length > 0 { upload?.isBusy = false }
        if let refusal { return refusal }
        if method == "OPTIONS" { return options() }
        switch target.kind {
        case .put, .post:
            target.act(body)
            return ServerAnswer(201)
        case .data:
            target.act(body)
            return ServerAnswer(200, body: target.newAnswer())
        case .form:
            target.act(on: FormReader(body, contentType: value("content-type")))
            return ServerAnswer(201)
        case .s3: return signed.flatMap { target.s3?.answer(to: $0, body) } ?? ServerAnswer(400)
        case .tus: return tus()
        case .contentRange: return contentRange()
        case .resumable: return resumable()
        }
    }

    /// The server's answer to OPTIONS.
    private func options() -> ServerAnswer {
        switch target.kind {
        case .tus: ServerAnswer(204, [("Tus-Version", "1.0.0"), ("Tus-Extension", "creation,termination")])
        case .resumable: ServerAnswer(204, limitFields)
        case .put, .post, .form, .contentRange, .s3, .data: ServerAnswer(405)
        }
    }

    private func tus() -> ServerAnswer {
        switch method {
        case "POST":
            let upload = target.create(length: count("upload-length"))
            if upload.length == 0 { target.complete(upload) }
            return ServerAnswer(201, [("Location", target.place(of: upload))])
        case "DELETE":
            upload?.isEnded = true
            return ServerAnswer(204)
        default:
            // The URL that creates uploads does nothing else.
            guard upload != nil else { return ServerAnswer(405) }
            finishIfWhole()
            return ServerAnswer(method == "HEAD" ? 200 : 204, [("Upload-Offset", "\(upload?.bytes.count ?? 0)")])
        }
    }

    private func contentRange() -> ServerAnswer {
        switch method {
        case "POST":
            let upload = target.create(length: count("x-upload-content-length"))
            return ServerAnswer(200, [("Location", target.place(of: upload))])
        case "DELETE":
            upload?.isEnded = true
            return ServerAnswer(499)
        default:
            finishIfWhole()
            guard let upload, !upload.isComplete else { return ServerAnswer(200) }
            let held = upload.bytes.count
            return ServerAnswer(308, held == 0 ? [] : [("Range", "bytes=0-\(held - 1)")])
        }
    }

    private func finishIfWhole() {
        if let upload, upload.bytes.count == upload.length { target.complete(upload) }
    }

    private func resumable() -> ServerAnswer {
        guard let upload else { return ServerAnswer(405) }
        switch method {
        case "DELETE":
            upload.isEnded = true
            return ServerAnswer(204)
        case "HEAD": return ServerAnswer(204, state(of: upload) + limitFields)
        default:
            let isMade = method == "POST"
            if isLast, taken == length { target.complete(upload) }
            let place = isMade ? [("Location", target.place(of: upload))] : []
            return ServerAnswer(isMade ? 201 : 200, place + state(of: upload) + limitFields)
        }
    }

    /// Whether the request says that nothing follows it.
    private var isLast: Bool { value("upload-complete") == "?1" || value("upload-incomplete") == "?0" }

    private func state(of upload: UploadTarget.Upload) -> [(String, String)] {
        let complete =
            target.interopVersion == 3
            ? ("Upload-Incomplete", upload.isComplete ? "?0" : "?1")
            : ("Upload-Complete", upload.isComplete ? "?1" : "?0")
        return [("Upload-Offset", "\(upload.bytes.count)"), complete]
    }
}
