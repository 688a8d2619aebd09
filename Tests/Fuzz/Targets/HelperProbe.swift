import TransferCore
import TransferModel

/// Lines of helpers: whatever a program says, its requests stay in order, and no byte counts that is not in the file.
struct HelperProbe: Probe {
    var take: @Sendable (inout HelperRequest, HelperMessage.Content) -> HelperEvent?

    private static let fileSize: Int64 = 1000
    private static let offset: Int64 = 300

    static let target = FuzzTarget(
        "helper-lines",
        words: [
            #"{"type":"hello","version":1,"many":true}"#, #"{"type":"response","id":1,"offset":0,"length":900}"#,
            #"{"type":"response","id":1,"offset":300,"validator":"v","headers":[["A","b"]]}"#,
            #"{"type":"data","id":1,"base64":"AAAA"}"#, #"{"type":"wrote","id":1,"offset":"#, "9223372036854775807",
            #"{"type":"finished","id":1}"#, #"{"type":"failed","id":1,"retryable":true}"#,
            #"{"type":"redirect","id":1,"url":"file:///"}"#, #"{"type":"challenge","id":1}"#, "-1", "null", "\\u0000",
            "\n", "}", "{", "[", "\"",
        ],
        HelperProbe { request, content in request.take(content) { fileSize } },
        // The offset is believed without a check.
        planted: HelperProbe { request, content in
            if case .wrote(let offset) = content { return .wrote(offset) }
            return request.take(content) { fileSize }
        })

    func check(_ input: [UInt8]) throws {
        var request = HelperRequest(scheme: "demo", offset: Self.offset, hasPart: true)
        var hasHead = false
        var isOver = false
        var reached: Int64 = 0
        for line in input.split(separator: 10) {
            guard case .request(_, let content)? = try? HelperMessage(Array(line)) else { continue }
            guard let event = take(&request, content) else { continue }
            try hold(!isOver, "\(event) after the end")
            switch event {
            case .response(let response):
                try hold(!hasHead && [0, Self.offset].contains(response.offset), "a head at \(response.offset)")
                try check(response)
                (hasHead, reached) = (true, response.offset)
            case .wrote(let offset):
                try hold(
                    hasHead && offset > reached && offset <= Self.fileSize, "\(offset) is believed after \(reached)")
                reached = offset
            case .data(let bytes): try hold(hasHead && !bytes.isEmpty, "bytes before the head")
            case .challenge: try hold(!hasHead, "a challenge after the head")
            case .finished, .failed, .redirect:
                try hold(event != .finished || hasHead, "an end before the head")
                isOver = true
            case .cannotResume: break
            }
        }
    }

    /// The header could have come over HTTP, and has no effect on the framing.
    private func check(_ response: HelperResponse) throws {
        var exchange = Exchange(url: "demo://place/name", judge: CaptureJudge())
        exchange.ownHeaders = [HeaderField("Range", "bytes=\(Self.offset)-")]
        let order = HelperOrder(exchange)
        let head = order.head(of: response)
        try hold((200...599).contains(head.status ?? 0), "the status \(head.status as Any)")
        for field in head.headers {
            try hold(HeaderField.isToken(field.name), "the name \(shown(field.name))")
            try hold(!field.value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "the value \(shown(field.value))")
        }
        for name in ["content-length", "content-range", "etag"] {
            try hold(head.values(name).count <= 1, "several of \(name)")
        }
        for line in [order.load(1), HelperOrder.cancel(1), HelperOrder.answer(1, nil)] {
            try hold(line.last == 10 && line.dropLast().allSatisfy { $0 != 10 }, "an order of several lines")
        }
    }
}
