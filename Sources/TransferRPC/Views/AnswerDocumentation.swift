import TransferModel

/// A server's answer, as the views of tasks and events have it.
extension ResponseInfo: WireObject {
    public static let wireName = "Response"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .url: .required(.string, "The URL after redirects, without user info.")
        case .status: .optional(.integer, "HTTP status.")
        case .statusText: .optional(.string, "The status in words.")
        case .headers:
            .required(
                HeaderField.wireType,
                "[name, value], as received; repeats are joined with commas, but kept apart with `secrets`. Content-Encoding and Content-Length describe the body before it was decoded."
            )
        case .headersTruncated:
            .optional(.boolean, "True in lists and events: there are more than 16 KiB of headers; `task.get` has all.")
        case .mimeType: .optional(.string, "Media type without parameters.")
        case .textEncoding: .optional(.string, "Its charset.")
        case .expectedLength: .required(.byteCount, "-1 if unknown.")
        case .suggestedFilename: .optional(.string, "Name suggested by the answer and the URL.")
        case .resumedFrom: .optional(.byteCount, "Offset in the file at which this answer's body began; absent for 0.")
        case .body:
            .optional(
                .object(ResponseBody.self),
                "First 64 KiB of the answer to an upload or data task; of a data task with `secrets` up to 1 MiB.")
        case .fromCache:
            .optional(
                .boolean, "True: the answer was stored; the server was not asked, or confirmed it ([cache](cache.md)).")
        case .age: .optional(.integer, "For a stored answer: seconds since the server made or confirmed it.")
        }
    }
}

extension ResponseBody: WireObject {
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .text: .optional(.string, "The body, if it is UTF-8.")
        case .base64: .optional(.string, "The body, if it is not UTF-8.")
        case .truncated: .optional(.boolean, "True: the body is longer than this.")
        case .size:
            .optional(
                .byteCount,
                "Only in `task.get` with `secrets`: length of a body of more than 1 MiB; `task.body` has its bytes.")
        }
    }
}

extension TransferError: WireObject {
    public static let wireName = "Error"
    public static func field(_ key: CodingKeys) -> Field {
        switch key {
        case .code: .required(.string, "The cause; see [errors.md](errors.md).")
        case .message: .required(.string, "What happened and what to do.")
        case .retryable: .required(.boolean, "Whether the same request may succeed later.")
        case .resumable:
            .optional(
                .boolean,
                "True: the task failed and the bytes it received are kept. `task.retry` continues from them, `task.resumeData` hands them over."
            )
        case .details: .required(.map(.any), "Depends on the code.")
        }
    }
}
