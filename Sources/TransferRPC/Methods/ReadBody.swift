import TransferModel

public struct ReadBody: WireObject, Hashable {
    /// Most bytes in one answer.
    public static let largestPiece: Int64 = 1 << 20

    public var id: TaskID
    public var offset: Int64?
    public var length: Int64?

    public init(id: TaskID, offset: Int64? = nil, length: Int64? = nil) {
        self.id = id
        self.offset = offset
        self.length = length
    }

    public static let shape = Shape("ReadBody", Self(id: TaskID(0))) { row in
        row("id", \.id, "The task.")
        row("offset", \.offset, "First byte; default: 0.", as: .byteCount)
        row("length", \.length, "Maximum number of bytes: 1 to \(largestPiece), the default.", as: .byteCount)
    }
}

public struct BodyData: WireObject, Hashable {
    public var data: String
    public var eof: Bool

    public init(data: String, eof: Bool) {
        self.data = data
        self.eof = eof
    }

    public static let shape = Shape("BodyPiece", Self(data: "", eof: false)) { row in
        row("data", \.data, "The piece, in base64.")
        row("eof", \.eof, "True: the body ends with this piece.")
    }
}
