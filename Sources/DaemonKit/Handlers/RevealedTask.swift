import TransferCore
import TransferModel
import TransferRPC
import TransferStore

/// A task with everything that is kept of its request and its answer. Only `task.get` with `secrets` returns it.
struct RevealedTask {
    var record: TaskRecord
    var exchange: KeptExchange

    /// Returns the view with nothing masked. Only the digests of pieces and long bodies are left out.
    func shown(in view: TaskView) -> TaskView {
        var view = view
        view.spec = spec
        view.response = response
        view.currentRequest = currentRequest
        return view
    }

    private var currentRequest: TaskRequest? {
        guard let standing = exchange.standing else { return nil }
        var request = standing.request
        request.body = standing.sendsOwnBody ? spec.body : request.body.map(Self.shown)
        let hasBody = request.body != nil || standing.sendsOwnBody && record.source != nil
        request.method = RequestHeaders.method(request.method, hasBody: hasBody)
        return request
    }

    private static func shown(_ body: RequestBody) -> RequestBody {
        guard let bytes = body.text.map({ Array($0.utf8) }) ?? body.base64.flatMap({ Base64.decode($0) }) else {
            return body
        }
        let size = ByteCount(Int64(bytes.count))
        let isShown = bytes.count <= Bounds.shownBody
        var shown = RequestBody()
        (shown.text, shown.base64) = content(KeptBody(size: size, content: isShown ? bytes : nil))
        if !isShown { shown.size = size }
        return shown
    }

    private var spec: TaskSpec {
        var spec = record.spec
        // The digests are not secret, and can have up to 2 MiB of digits.
        spec.pieces?.values = []
        guard spec.body != nil else { return spec }
        let (text, base64) = exchange.request.map(Self.content) ?? (nil, nil)
        spec.body?.text = text
        spec.body?.base64 = base64
        if text == nil, base64 == nil { spec.body?.size = exchange.request?.size ?? record.source?.size }
        return spec
    }

    private var response: ResponseInfo? {
        guard var response = record.response else { return nil }
        if let head = exchange.head {
            (response.url, response.headers, response.headersTruncated) = (head.url, head.headers, nil)
        }
        guard let body = exchange.response, body.size > .zero else { return response }
        let (text, base64) = Self.content(body)
        response.body = ResponseBody(text: text, base64: base64, size: body.content == nil ? body.size : nil)
        return response
    }

    /// The most bytes of JSON that a text may take, because an answer must fit into the client's queue.
    private static let longestText = 5 << 19

    /// Returns the body as text if it is valid UTF-8 and does not grow much in JSON, where a control character takes
    /// six bytes. Otherwise it returns base64.
    private static func content(_ body: KeptBody) -> (text: String?, base64: String?) {
        guard let bytes = body.content else { return (nil, nil) }
        let length = bytes.reduce(0) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x5C ? 2 : 1) }
        if length <= longestText, let text = String(validating: bytes, as: UTF8.self) { return (text, nil) }
        return (nil, bytes.base64)
    }
}
