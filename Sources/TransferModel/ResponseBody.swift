/// The beginning of a response body as the task shows it.
public struct ResponseBody: Hashable, Sendable {
    /// The most bytes of a body that a task shows.
    package static let most = 64 << 10

    public var text: String?
    public var base64: String?
    public var truncated: Bool?
    public var size: ByteCount?

    public init(text: String? = nil, base64: String? = nil, truncated: Bool? = nil, size: ByteCount? = nil) {
        self.text = text
        self.base64 = base64
        self.truncated = truncated
        self.size = size
    }

    /// Shows the bytes as text if they are UTF-8. A character that was cut at the end is left out.
    package init(showing bytes: [UInt8], isTruncated: Bool) {
        self.init(truncated: isTruncated ? true : nil)
        for cut in 0...(isTruncated ? min(3, bytes.count) : 0) {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) {
                self.text = text
                return
            }
        }
        base64 = bytes.base64
    }
}

extension ResponseBody: WireObject {
    public static let shape = Shape("ResponseBody", Self()) { row in
        row("text", \.text, "The body, if it is UTF-8.")
        row("base64", \.base64, "The body, if it is not UTF-8.")
        row("truncated", \.truncated, "True: the body is longer than this.")
        row(
            "size", \.size,
            "Only in `task.get` with `secrets`: length of a body of more than 1 MiB; `task.body` has its bytes.")
    }
}
