import TestSupport
import TransferModel

/// The table of faults: connections, offsets, vanished uploads, statuses.
extension UploadFaultCase {
    private static let size = UploadFaultSubject.size
    private static let largeSize = UploadFaultSubject.largeSize
    private static let lost = Ending.failed("network.lost")
    private static let broken = Ending.failed("http.protocol")
    private static let later = ("Retry-After", "2000")
    private static let impatient: [String: JSONValue] = ["timeoutIntervalForRequest": 2]
    private static let auto: [String: JSONValue] = ["uploadProtocol": "auto"]
    private static let asked: [String: JSONValue] = ["headers": [["Expect", "100-continue"]]]

    /// Connections that break in each phase.
    static let cuts: [UploadFaultCase] =
        [0, 1, 65_536, 300_000, size - 1].map { count in
            UploadFaultCase(
                "cut after \(count) bytes", [.resuming, .s3, .put],
                [.on(.append, .cut(after: count))])
        }
        + [0, 1, 65_536, 300_000].map { count in
            // The daemon knows that the request was never complete.
            UploadFaultCase("cut after \(count) bytes", .once, [.on(.append, .cut(after: count))], isLarge: true)
        } + [
            UploadFaultCase("creation unheard", .creating, [.on(.creation, .hangUp)]),
            UploadFaultCase("creation's answer lost", .creating, [.on(.creation, .loseAnswer)], extra: 1),
            UploadFaultCase("append unheard", [.creating, .s3, .put], [.on(.append, .hangUp)]),
            UploadFaultCase("creation with its content unheard", .optimistic, [.on(.append, .hangUp)], isLarge: true),
            UploadFaultCase("append's answer lost", [.resuming, .s3, .put], [.on(.append, .loseAnswer)]),
            UploadFaultCase("answer lost", .once, [.on(.append, .loseAnswer)], lost, requests: 1),
            UploadFaultCase(
                "every connection cut", [.resuming, .s3, .put], [.always(.append, .cut(after: 0))], lost, requests: 40),
            UploadFaultCase(
                "every creation's answer lost", .creating, [.always(.creation, .loseAnswer)], lost, requests: 8,
                extra: 3),
            UploadFaultCase(
                "query unheard", .resuming,
                [.on(.append, .cut(after: 200_000)), .on(.query, 1, .hangUp), .on(.query, 2, .hangUp)]),
            UploadFaultCase(
                "query's answer lost", .resuming,
                [.on(.append, .cut(after: 200_000)), .on(.query, 1, .loseAnswer), .on(.query, 2, .loseAnswer)]),
            UploadFaultCase(
                "silence after the creation", .creating, [.on(.creation, .stall)], options: impatient),
            UploadFaultCase(
                "silence after the append", [.creating, .s3, .put], [.on(.append, .stall)], options: impatient),
            UploadFaultCase(
                "silence", .once, [.on(.append, .stall)], .failed("network.timeout"), options: impatient, requests: 1),
            UploadFaultCase(
                "question unheard", [.tus, .draft, .put], [.on(.capabilities, .hangUp)], options: auto),
            UploadFaultCase(
                "question answered with a 503", [.tus, .draft, .put], [.on(.capabilities, .answer(503))], options: auto),
            UploadFaultCase("completion unheard", .s3, [.on(.completion, .hangUp)]),
            UploadFaultCase("completion's answer lost", .s3, [.on(.completion, .loseAnswer)]),
        ]
        + [2, 9, 40].flatMap { missing in
            [
                UploadFaultCase(
                    "creation's answer without its last \(missing) bytes", .creating,
                    [.on(.creation, .breakAnswer(missing: missing))], extra: 1),
                UploadFaultCase(
                    "append's answer without its last \(missing) bytes", [.resuming, .s3, .put],
                    [.on(.append, .breakAnswer(missing: missing))]),
                UploadFaultCase(
                    "answer without its last \(missing) bytes", .once,
                    [.on(.append, .breakAnswer(missing: missing))], lost, requests: 1),
                UploadFaultCase(
                    "query's answer without its last \(missing) bytes", .resuming,
                    [
                        .on(.append, .cut(after: 200_000)), .on(.query, 1, .breakAnswer(missing: missing)),
                        .on(.query, 2, .breakAnswer(missing: missing)),
                    ]),
            ]
        }

    /// Servers that hold less, more or other bytes than were sent.
    static let offsets: [UploadFaultCase] = [
        UploadFaultCase("keeps less", .resuming, [.on(.append, .keep(200_000))]),
        UploadFaultCase("keeps nothing at first", .resuming, [.on(.append, .keep(0))]),
        UploadFaultCase("keeps nothing", .resuming, [.always(.append, .keep(0))], broken, requests: 30),
        UploadFaultCase(
            "claims more than there is", [.tus, .drafts], [.on(.append, .claim(size + 5))], broken, requests: 2),
        UploadFaultCase(
            "claims more than there is", .contentRange, [.on(.append, .claim(size + 5)), .on(.append, .status(308))],
            broken, requests: 3),
        UploadFaultCase(
            "claims more than there is when asked", [.tus, .drafts],
            [.on(.append, .cut(after: 200_000)), .on(.query, .claim(size + 5))], broken, requests: 3),
        UploadFaultCase(
            "claims more than there is when asked", .contentRange,
            [.on(.append, .cut(after: 200_000)), .on(.query, 2, .claim(size + 5))], broken, requests: 6),
        UploadFaultCase(
            "claims more than was sent", [.tus, .draft],
            [.on(.append, .stop(after: 100_000)), .on(.append, .claim(largeSize - 5))], broken, isLarge: true,
            requests: 2),
        UploadFaultCase(
            "claims more than was sent", .contentRange,
            [.on(.append, .stop(after: 100_000)), .on(.append, .claim(largeSize - 5))], broken, isLarge: true,
            requests: 3),
        UploadFaultCase(
            "claims more than an append could bring", .draft,
            [.always(.creation, .field("Upload-Limit", "max-append-size=100000")), .on(.append, .claim(150_000))],
            broken, requests: 2),
        UploadFaultCase(
            "goes back", .resuming, [.on(.append, 1, .keep(400_000)), .on(.append, 2, .forget(300_000))]),
        UploadFaultCase(
            "goes back when asked", .resuming,
            [.on(.append, 1, .keep(400_000)), .on(.append, 2, .cut(after: 0)), .always(.query, .forget(300_000))]),
        UploadFaultCase(
            "goes back again and again", .resuming,
            [.always(.append, .keep(200_000)), .always(.append, from: 2, .forget(size))], broken, requests: 80),
        UploadFaultCase("conflict at first", [.tus, .draft], [.on(.append, .answer(409))]),
        UploadFaultCase("conflict", [.tus, .draft], [.always(.append, .answer(409))], broken, requests: 36),
        UploadFaultCase(
            "conflict beyond the end", .draft, [.on(.append, .answer(409, [("Upload-Offset", "\(size + 5)")]))],
            broken, requests: 2),
        UploadFaultCase(
            "answers before the whole was read", .resuming, [.on(.append, .stop(after: 100_000))], isLarge: true),
        UploadFaultCase(
            "success before the whole was read", [.put, .s3], [.on(.append, .stop(after: 100_000))], isLarge: true),
        UploadFaultCase(
            "success before the whole was ever read", [.put, .s3], [.always(.append, .stop(after: 100_000))], lost,
            isLarge: true, requests: 4),
        UploadFaultCase(
            "success before the whole was read", .once, [.on(.append, .stop(after: 100_000))], lost, isLarge: true,
            requests: 1),
    ]

    /// Uploads that vanish.
    static let vanished: [UploadFaultCase] =
        [404, 410].flatMap { status in
            [
                UploadFaultCase(
                    "\(status) while it is sent", .resuming,
                    [.on(.append, 1, .keep(200_000)), .on(.append, 2, .lose(status))], extra: 1, restarts: 1),
                UploadFaultCase(
                    "\(status) when asked", [.tus, .drafts],
                    [.on(.append, .cut(after: 200_000)), .on(.query, .lose(status))], extra: 1, restarts: 1),
                UploadFaultCase(
                    "\(status) when asked", .contentRange,
                    [.on(.append, .cut(after: 200_000)), .on(.query, 2, .lose(status))], extra: 1, restarts: 1),
            ]
        } + [
            UploadFaultCase(
                "404 for ever", .creating, [.always(.append, .lose(404))], .failed("http.status", 404), requests: 24,
                extra: 6, restarts: 3),
            UploadFaultCase(
                "404 after some bytes for ever", [.tus, .draft],
                [.always(.append, .keep(200_000))] + (1...20).map { .on(.append, $0 * 2, .lose(404)) },
                .failed("http.status", 404), requests: 40, extra: 7, restarts: 3),
        ]

    /// Statuses, and how they must be handled.
    static let statuses: [UploadFaultCase] =
        [500, 502, 429].flatMap { status in
            [
                UploadFaultCase("\(status) to the creation", .creating, [.on(.creation, .answer(status))]),
                UploadFaultCase(
                    "\(status) when asked", .resuming,
                    [
                        .on(.append, .cut(after: 200_000)), .on(.query, 1, .answer(status)),
                        .on(.query, 2, .answer(status)),
                    ]),
                UploadFaultCase(
                    "\(status) to the append", [.creating, .s3, .put], [.on(.append, .answer(status))]),
                UploadFaultCase(
                    "\(status) half-way", .resuming,
                    [.on(.append, 1, .keep(200_000)), .on(.append, 2, .answer(status))]),
                UploadFaultCase("\(status) to the completion", .s3, [.on(.completion, .answer(status))]),
            ]
        } + [
            UploadFaultCase(
                "500 that was acted on", [.tus, .contentRange, .s3, .put], [.on(.append, .status(500))]),
            UploadFaultCase(
                "500 without a word on completion", .drafts,
                [
                    .on(.append, .status(500)), .on(.append, .field("Upload-Complete", nil)),
                    .on(.append, .field("Upload-Incomplete", nil)),
                ]),
            UploadFaultCase("500", .once, [.on(.append, .answer(500))], .failed("http.status", 500), requests: 1),
            UploadFaultCase("429", .once, [.on(.append, .answer(429))], requests: 2),
            UploadFaultCase(
                "500 for ever", [.creating, .s3, .put], [.always(.append, .answer(500))], .failed("http.status", 500),
                requests: 9),
            UploadFaultCase(
                "503 to the creation", .creating, [.on(.creation, .answer(503, [later]))], .waiting(2000, 503),
                requests: 1),
            UploadFaultCase(
                "503 to the append", .all, [.on(.append, .answer(503, [later]))], .waiting(2000, 503), requests: 3),
            UploadFaultCase(
                "429 half-way", .resuming,
                [.on(.append, 1, .keep(200_000)), .on(.append, 2, .answer(429, [later]))], .waiting(2000, 429),
                requests: 4),
            UploadFaultCase(
                "503 when asked", .resuming,
                [.on(.append, .cut(after: 200_000)), .always(.query, .answer(503, [later]))],
                .waiting(2000, 503), requests: 3),
            UploadFaultCase(
                "503 to the completion", .s3, [.on(.completion, .answer(503, [later]))], .waiting(2000, 503),
                requests: 4),
            UploadFaultCase(
                "503 for a second", [.tus, .put], [.on(.append, .answer(503, [("Retry-After", "1")]))]),
            UploadFaultCase(
                "locked", [.tus, .drafts], [.on(.append, 1, .keep(200_000)), .on(.append, 2, .answer(423))]),
            UploadFaultCase(
                "locked when asked", [.tus, .drafts],
                [.on(.append, .cut(after: 200_000)), .on(.query, .answer(423, [later]))], .waiting(2000, 423),
                requests: 3),
            UploadFaultCase(
                "locked for ever", [.tus, .draft], [.always(.append, .answer(423))], .failed("http.status", 423),
                requests: 8),
            UploadFaultCase(
                "checksum wrong once", .tus, [.on(.append, .answer(460))], options: ["uploadChecksum": "sha-1"]),
            UploadFaultCase(
                "checksum wrong", .tus, [.always(.append, .answer(460))], .failed("integrity.checksum"),
                options: ["uploadChecksum": "sha-1"], requests: 7),
            UploadFaultCase(
                "too large half-way", [.tus, .drafts],
                [.on(.append, 1, .keep(200_000)), .on(.append, 2, .refuse(413)), .on(.append, 3, .refuse(413))],
                requests: 16),
            UploadFaultCase(
                "too large half-way", .contentRange,
                [.on(.append, 1, .keep(200_000)), .on(.append, 2, .refuse(413))]),
            UploadFaultCase(
                "too large from there on", .resuming,
                [.on(.append, 1, .keep(200_000)), .always(.append, from: 2, .refuse(413))],
                .failed("http.status", 413), requests: 16),
            UploadFaultCase(
                "too large", [.plain, .s3], [.on(.append, .refuse(413))], .failed("http.status", 413), requests: 1),
            UploadFaultCase(
                "too large to create", .creating, [.on(.creation, .answer(413))], .failed("http.status", 413),
                requests: 1),
            UploadFaultCase(
                "no credentials", .all, [.on(.append, .refuse(401))], .failed("auth.required"), requests: 3),
            UploadFaultCase("refused", .all, [.on(.append, .answer(400))], .failed("http.status", 400), requests: 3),
            UploadFaultCase("no expectation met", .all, [.on(.append, .refuse(417))], options: asked),
        ]
}
