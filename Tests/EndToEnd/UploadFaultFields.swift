import TestSupport
import TransferModel

/// The table of faults, continued: missing, wrong or hostile fields, and faults that only one protocol can have.
extension UploadFaultCase {
    private static let size = UploadFaultSubject.size
    private static let broken = Ending.failed("http.protocol")
    private static let auto: [String: JSONValue] = ["uploadProtocol": "auto"]
    private static let past = "Thu, 01 Jan 2015 00:00:00 GMT"

    /// Wrong locations of the upload.
    static let places: [UploadFaultCase] =
        [nil, "", "http://[::1", "ftp://127.0.0.1/f", "file:///etc/passwd", "http://user@/x", "//"].map { place in
            UploadFaultCase(
                "place \(place ?? "missing")", .creating, [.on(.creation, .field("Location", place))], broken,
                requests: 1)
        } + [
            UploadFaultCase(
                "place that is none", .creating, [.always(.creation, .field("Location", "/nowhere"))],
                .failed("http.status", 404), requests: 24, extra: 6, restarts: 3),
            UploadFaultCase(
                "place of a part that is none", .optimistic,
                [.on(.append, .keep(100_000)), .on(.append, .field("Location", "ftp://127.0.0.1/f"))], broken,
                requests: 1),
        ]

    /// What the server says about the upload.
    static let fields: [UploadFaultCase] =
        [nil, "banana", "-5", "1e5", "99999999999999999999", ""].flatMap { offset in
            [
                UploadFaultCase(
                    "offset \(offset ?? "missing")", [.tus, .drafts],
                    [.on(.append, .keep(200_000)), .on(.append, .field("Upload-Offset", offset))]),
                UploadFaultCase(
                    "offset \(offset ?? "missing") when asked", [.tus, .drafts],
                    [.on(.append, .cut(after: 200_000)), .on(.query, .field("Upload-Offset", offset))], broken,
                    requests: 3),
            ]
        } + [
            UploadFaultCase(
                "another length", [.tus, .drafts],
                [.on(.append, .cut(after: 200_000)), .on(.query, .field("Upload-Length", "\(size + 1)"))], broken,
                requests: 3),
            UploadFaultCase(
                "complete before its end", .drafts,
                [
                    .on(.append, .cut(after: 200_000)), .on(.query, .field("Upload-Complete", "?1")),
                    .on(.query, .field("Upload-Incomplete", nil)),
                ], broken, requests: 3),
            UploadFaultCase(
                "complete before its end while it is sent", .draft,
                [
                    .always(.creation, .field("Upload-Limit", "max-append-size=100000")),
                    .on(.append, .field("Upload-Complete", "?1")), .on(.append, .field("Upload-Incomplete", nil)),
                ], broken, requests: 2),
            UploadFaultCase(
                "complete with less than all", .drafts, [.on(.append, .claim(200_000))], broken, requests: 2),
            UploadFaultCase(
                "complete when created", .draft,
                [
                    .on(.creation, .field("Upload-Complete", "?1")), .on(.creation, .field("Upload-Incomplete", nil)),
                ], broken, requests: 1),
            UploadFaultCase(
                "a word on completion that is none", .draft, [.on(.append, .field("Upload-Complete", "yes"))]),
            UploadFaultCase(
                "refused by the target", .drafts, [.on(.append, .status(422))], .failed("http.status", 422),
                requests: 2),
            UploadFaultCase(
                "failed by the target", .drafts, [.on(.append, .status(500))], .failed("http.status", 500), requests: 2),
            UploadFaultCase(
                "unavailable target", .drafts, [.on(.append, .status(503))], .failed("http.status", 503), requests: 2),
            UploadFaultCase("expired at once", .tus, [.always(.creation, .field("Upload-Expires", past))]),
            UploadFaultCase(
                "expired and gone", .tus,
                [
                    .on(.creation, .field("Upload-Expires", past)), .on(.append, .cut(after: 200_000)),
                    .on(.query, .lose(403)),
                ], extra: 1, restarts: 1),
        ]

    /// The server's limits.
    static let limits: [UploadFaultCase] =
        [
            UploadFaultCase(
                "too large by its word", .tus, [.always(.capabilities, .field("Tus-Max-Size", "1000"))],
                .failed("request.too_large"), options: auto, requests: 1),
            UploadFaultCase(
                "too large by its word", .drafts, [.always(.capabilities, .field("Upload-Limit", "max-size=1000"))],
                .failed("request.too_large"), options: auto, requests: 1),
            UploadFaultCase(
                "too large when created", .draft, [.on(.creation, .field("Upload-Limit", "max-size=1000"))],
                .failed("request.too_large"), requests: 1),
            UploadFaultCase(
                "too small when created", .draft, [.on(.creation, .field("Upload-Limit", "min-size=1000000"))],
                .failed("request.bad_field"), requests: 1),
            UploadFaultCase(
                "too large when asked", .drafts,
                [.on(.append, .cut(after: 200_000)), .on(.query, .field("Upload-Limit", "max-size=1000"))],
                .failed("request.too_large"), requests: 3),
        ]
        + [("max-append-size=100000", 100_000), ("max-append-size=200000, max-age=60;x=1", 200_000)].map {
            (limit: String, longest: Int) in
            UploadFaultCase(
                limit, .draft, [.always(.creation, .field("Upload-Limit", limit))], requests: 8, longestAppend: longest)
        }
        + ["max-append-size=0", "max-append-size=-5", "max-append-size", "=,;", "max-size=?"].map { (limit: String) in
            UploadFaultCase(limit, .draft, [.always(.creation, .field("Upload-Limit", limit))], requests: 2)
        }

    /// 308 and its fields.
    static let ranges: [UploadFaultCase] =
        ["bytes=5-9", "banana", "bytes=0-", "bytes=0-x", "bytes=0--1", "bytes=0-99999999999999999999", ""].flatMap {
            (range: String) in
            [
                UploadFaultCase(
                    "range \(range)", .contentRange,
                    [.on(.append, .keep(262_144)), .on(.append, .field("Range", range))], broken, requests: 3),
                UploadFaultCase(
                    "range \(range) when asked", .contentRange,
                    [.on(.append, .cut(after: 200_000)), .on(.query, 2, .field("Range", range))], broken, requests: 6),
            ]
        } + [
            UploadFaultCase(
                "range missing", .contentRange, [.on(.append, .keep(262_144)), .on(.append, .field("Range", nil))]),
            UploadFaultCase("knows no ranges", .contentRange, [.on(.query, .answer(200))], broken, requests: 2),
            UploadFaultCase("takes no ranges", .contentRange, [.on(.query, .answer(400))], .failed("http.status", 400)),
            UploadFaultCase(
                "says 308 though it is whole", .contentRange,
                [.on(.append, .status(308)), .on(.append, .claim(size))]),
            UploadFaultCase("another range wanted", .contentRange, [.on(.append, .answer(416))]),
            UploadFaultCase(
                "never the right range", .contentRange, [.always(.append, .answer(416))], broken, requests: 36),
        ]

    /// Parts, entity tags and the completion.
    static let parts: [UploadFaultCase] = [
        UploadFaultCase("part without ETag", .s3, [.on(.append, .field("ETag", nil))], broken, requests: 1),
        UploadFaultCase("part with an empty ETag", .s3, [.on(.append, .field("ETag", ""))], broken, requests: 1),
        UploadFaultCase(
            "expired URL", .s3, [.on(.append, 2, .answer(403, body: error("AccessDenied", "Request has expired")))],
            .failed("http.status", 403), requests: 2),
        UploadFaultCase(
            "slow down", .s3, [.on(.append, 2, .answer(503, body: error("SlowDown", "Reduce your rate.")))]),
        UploadFaultCase(
            "error under a 200", .s3, [.on(.completion, .answer(200, body: error("InternalError", "Try again.")))]),
        UploadFaultCase(
            "refusal under a 200", .s3, [.on(.completion, .answer(200, body: error("AccessDenied", "No.")))],
            .failed("http.status"), requests: 4),
        UploadFaultCase(
            "part lost", .s3, [.on(.completion, .answer(400, body: error("InvalidPart", "One is missing.")))],
            restarts: 1),
        UploadFaultCase(
            "parts lost for ever", .s3, [.always(.completion, .answer(400, body: error("InvalidPart", "Missing.")))],
            .failed("http.status"), requests: 8, restarts: 1),
        UploadFaultCase(
            "completed unheard", .s3,
            [
                .on(.completion, 1, .loseAnswer),
                .on(.completion, 2, .answer(404, body: error("NoSuchUpload", "Gone."))),
            ],
            broken, requests: 5),
        UploadFaultCase(
            "completed with a 500", .s3,
            [
                .on(.completion, 1, .status(500)),
                .on(.completion, 2, .answer(404, body: error("NoSuchUpload", "Gone."))),
            ],
            broken, requests: 5),
        UploadFaultCase(
            "upload aborted", .s3, [.on(.completion, .answer(404, body: error("NoSuchUpload", "Gone.")))],
            .failed("http.status", 404), requests: 4),
    ]

    private static func error(_ code: String, _ message: String) -> String {
        "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>\(message)</Message></Error>"
    }
}
