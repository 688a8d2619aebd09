import Testing
import TransferModel

@testable import dld_web

struct Aria2GIDTests {
    @Test(arguments: [1, 2, 3, 77, 1 << 32, (1 << 53) - 1] as [Int64])
    func leadsBackToTheTask(id: Int64) throws {
        let gid = Aria2GID(task: id)
        #expect(gid.task == id)
        #expect("\(gid)".count == 16)
        #expect(Aria2GID("\(gid)") == gid)
    }

    @Test func tasksDiffer() { #expect(Set((1...10_000).map { Aria2GID(task: $0) }).count == 10_000) }

    /// Otherwise the tasks of today would get other numbers tomorrow.
    @Test func staysTheSame() { #expect("\(Aria2GID(task: 1))" == "4179b061e0c0e0d0") }

    @Test(arguments: ["", "1", "0000000000000000", "+123456789abcdef", "0123456789abcdefa", "0123456789abcdeg"])
    func otherTextsAreNone(text: String) { #expect(Aria2GID(text) == nil) }

    @Test func theAttributeCounts() {
        let own: JSONValue = ["id": 7, "attributes": ["aria2.gid": "00000000000000AB"]]
        #expect(Aria2GID(of: own)?.description == "00000000000000ab")
        #expect(Aria2GID(of: ["id": 7, "attributes": ["aria2.gid": "x"]]) == Aria2GID(task: 7))
        #expect(Aria2GID(of: ["id": 7]) == Aria2GID(task: 7))
    }
}

struct Aria2RangeTests {
    /// Of the letters, as aria2c(1) describes it for `tellWaiting`.
    @Test(
        arguments: [
            (0, 2, "ab"), (1, 5, "bcd"), (4, 1, ""), (9, 1, ""), (0, 0, ""), (0, -1, ""), (0, Int64.max, "abcd"),
            (-1, 2, "dc"), (-2, 9, "cba"), (-4, 1, "a"), (-5, 1, ""), (Int64.min, 2, ""), (-1, Int64.max, "dcba"),
        ] as [(Int64, Int64, String)])
    func namesRows(offset: Int64, count: Int64, expected: String) {
        let range = Aria2Range(offset: offset, count: count, of: 4)
        let rows = "abcd".dropFirst(range.first).prefix(range.count)
        #expect((range.isReversed ? String(rows.reversed()) : String(rows)) == expected)
        let mirror = range.mirrored(in: 4)
        let others = "dcba".dropFirst(mirror.first).prefix(mirror.count)
        #expect((mirror.isReversed ? String(others.reversed()) : String(others)) == expected)
    }
}

struct Aria2OptionsTests {
    private func members(_ options: [String: JSONValue], of task: JSONValue? = nil) throws -> [String: JSONValue] {
        try Aria2Options(options).members(url: "http://a/b", of: task)
    }

    @Test(
        arguments: [
            ["dir": "/d"]: ["destination": ["directory": "/d"]],
            ["dir": "/d", "out": "f"]: ["destination": ["directory": "/d", "filename": "f"]],
            ["dir": "/d/", "out": "e/f"]: ["destination": ["path": "/d/e/f"]],
            ["out": "f"]: ["destination": ["filename": "f"]],
            ["header": ["A: b", "C:d:e"]]: ["headers": [["A", "b"], ["C", "d:e"]]],
            ["header": "A: b\nC: d\n"]: ["headers": [["A", "b"], ["C", "d"]]],
            ["referer": "*", "user-agent": "x/1"]: ["headers": [["User-Agent", "x/1"], ["Referer", "http://a/b"]]],
            ["header": "Referer: r", "referer": "s"]: ["headers": [["Referer", "r"]]],
            ["http-user": "u", "http-passwd": "p"]: ["username": "u", "password": "p"],
            ["all-proxy": "h:8"]: ["proxy": "http://h:8"],
            ["all-proxy": "socks5://h", "all-proxy-user": "u@", "all-proxy-passwd": "p:"]: [
                "proxy": "socks5://u%40:p%3A@h"
            ],
            ["all-proxy": ""]: ["proxy": "none"],
            ["max-download-limit": "100K"]: ["rateLimit": 102_400],
            ["max-download-limit": "2m"]: ["rateLimit": 2_097_152],
            ["max-download-limit": "0"]: ["rateLimit": 0],
            ["split": "4"]: ["connections": 4],
            ["split": "100", "max-connection-per-server": "100"]: ["connections": 64],
            ["split": "8", "max-connection-per-server": 2]: ["connections": 2],
            ["checksum": "SHA-256=AB"]: ["checksum": ["algorithm": "sha-256", "value": "ab"]],
            ["pause": "true"]: ["startPaused": true],
            ["pause": true]: ["startPaused": true],
            ["remote-time": "true"]: ["preserveTime": true],
            ["max-tries": "3", "retry-wait": "5"]: ["retry": ["attempts": 3, "firstDelay": 5, "longestDelay": 5]],
            ["max-tries": "0", "retry-wait": "0"]: ["retry": ["attempts": 0]],
            ["timeout": "9"]: ["timeoutIntervalForRequest": 9],
            ["timeout": "9", "connect-timeout": "5"]: ["timeoutIntervalForRequest": 9],
            ["connect-timeout": "5"]: [:],
            ["connect-timeout": "90"]: ["timeoutIntervalForRequest": 90],
            ["allow-overwrite": "true", "auto-file-renaming": "false"]: ["conflictPolicy": "overwrite"],
            ["allow-overwrite": "false"]: ["conflictPolicy": "rename"],
            ["auto-file-renaming": "false"]: ["conflictPolicy": "fail"],
            ["check-certificate": "true", "continue": "true", "bt-max-peers": "1", "gid": "x", "dir": "", "odd": 1.5]:
                [:],
        ] as [[String: JSONValue]: [String: JSONValue]])
    func takeEffect(options: [String: JSONValue], expected: [String: JSONValue]) throws {
        #expect(try members(options) == expected)
    }

    @Test(
        arguments: [
            "split": "a", "max-connection-per-server": "0", "max-tries": "-1", "retry-wait": "x", "timeout": "601",
            "connect-timeout": "0", "max-download-limit": "1X", "checksum": "sha-9=ab", "pause": "yes",
            "remote-time": "1",
            "allow-overwrite": "maybe", "check-certificate": "false", "dir": "relative", "out": "../x",
            "header": "no colon",
        ])
    func badOnesAreRefused(name: String, value: String) {
        #expect(throws: Aria2Error.self) { try members([name: .string(value), "all-proxy": "h"]) }
    }

    /// A change of one header field keeps the others.
    @Test func aChangeKeepsWhatItDoesNotName() throws {
        let task: JSONValue = [
            "headers": [["Cookie", "c"], ["User-Agent", "old"]], "destination": ["path": "/d/f"], "password": "p",
        ]
        #expect(
            try members(["user-agent": "new", "out": "g", "http-user": "u", "split": "4"], of: task) == [
                "headers": [["Cookie", "c"], ["User-Agent", "new"]],
                "destination": ["directory": "/d", "filename": "g"], "username": "u", "password": "p",
            ])
    }

    @Test func areEchoed() {
        let given = Aria2Options([
            "dir": "/d", "odd": "1", "max-download-limit": "1K", "http-passwd": "p", "header": "A: b",
        ])
        let attributes = given.attributes(over: ["mine": "x"], gid: Aria2GID(task: 1))
        #expect(attributes["mine"] == "x")
        #expect(attributes["aria2.gid"] == "4179b061e0c0e0d0")
        #expect(attributes["aria2.options"] == #"{"dir":"/d","max-download-limit":"1K","odd":"1"}"#)
        let task: JSONValue = [
            "attributes": attributes, "rateLimit": 1024, "headers": [["A", "b"], ["Referer", "r"]], "password": "p",
            "destination": ["directory": "/d"], "connections": 3, "checksum": ["algorithm": "md5", "value": "ab"],
        ]
        let echo = Aria2Options(of: task).values
        let expected = [
            "dir": "/d", "odd": "1", "max-download-limit": "1024", "http-passwd": "p", "header": "A: b\n",
            "referer": "r",
            "split": "3", "checksum": "md5=ab", "max-tries": "5",
        ]
        #expect(echo.filter { expected[$0.key] != nil } == expected)
        let limited: JSONValue = ["attributes": attributes, "rateLimit": 5]
        #expect(Aria2Options(of: limited)["max-download-limit"] == "5")
    }

    @Test func longOnesAreLeftOut() {
        let given = Aria2Options(["a": "1", "b": .string(String(repeating: "x", count: 5000))])
        #expect(given.attributes(over: [:], gid: nil) == ["aria2.options": #"{"a":"1"}"#])
        let others: [String: JSONValue] = ["mine": .string(String(repeating: "x", count: 4080))]
        #expect(given.attributes(over: others, gid: nil) == .object(others))
    }
}

struct Aria2StatusTests {
    @Test(
        arguments: [
            "queued": "waiting", "waiting": "waiting", "running": "active", "paused": "paused", "completed": "complete",
            "failed": "error", "cancelled": "removed",
        ])
    func tellsTheState(state: String, word: String) {
        #expect(Aria2Status.json(["id": 1, "state": .string(state)])["status"]?.stringValue == word)
    }

    @Test func everyStateHasAList() {
        let lists = Aria2Status.active + Aria2Status.waiting + Aria2Status.stopped
        #expect(Set(lists) == Set(TaskState.allCases.map(\.rawValue)))
    }

    @Test(
        arguments: [
            "network.timeout": 2, "deadline.exceeded": 2, "disk.full": 9, "disk.quota": 9, "disk.io": 9,
            "destination.exists": 13, "network.dns": 19, "http.status": 22, "auth.required": 24, "auth.failed": 24,
            "integrity.checksum": 32, "network.connect": 1, "odd": 1,
        ])
    func tellsTheError(code: String, number: Int) {
        let task: JSONValue = ["id": 1, "state": "failed", "error": ["code": .string(code), "message": "m"]]
        #expect(Aria2Status.json(task)["errorCode"]?.stringValue == "\(number)")
        #expect(Aria2Status.json(task)["errorMessage"] == "m")
        let waiting: JSONValue = ["id": 1, "state": "waiting", "error": ["code": .string(code), "message": "m"]]
        #expect(Aria2Status.json(waiting)["errorCode"] == nil)
    }

    @Test func tellsOtherEnds() {
        let missing: JSONValue = ["state": "failed", "error": ["code": "http.status", "details": ["status": 404]]]
        #expect(Aria2Status.errorCode(missing) == 3)
        #expect(Aria2Status.errorCode(["state": "completed"]) == 0)
        #expect(Aria2Status.errorCode(["state": "cancelled"]) == 31)
    }

    private static let running: JSONValue = [
        "id": 1, "state": "running", "url": "http://a/x%20y.iso?q", "mirrors": ["http://b/z"],
        "bytesReceived": 3_145_728,
        "bytesExpected": 5_000_000, "rate": 12.7, "bytesSent": 0, "destination": ["directory": "/d"],
        "segments": [
            ["start": 0, "end": 2_097_152, "received": 2_097_152, "active": true],
            ["start": 2_097_152, "end": 5_000_000, "received": 1_048_576, "active": true],
        ],
    ]

    @Test func tellsNumbersAsStrings() throws {
        let status = Aria2Status.json(Self.running)
        let expected: JSONValue = [
            "gid": "4179b061e0c0e0d0", "status": "active", "totalLength": "5000000", "completedLength": "3145728",
            "uploadLength": "0", "downloadSpeed": "12", "uploadSpeed": "0", "connections": "2",
            "pieceLength": "1048576",
            "numPieces": "5", "dir": "/d",
            "files": [
                [
                    "index": "1", "path": "/d/x y.iso", "length": "5000000", "completedLength": "3145728",
                    "selected": "true",
                    "uris": [
                        ["uri": "http://a/x%20y.iso?q", "status": "used"], ["uri": "http://b/z", "status": "waiting"],
                    ],
                ]
            ],
        ]
        #expect(status == expected)
        #expect(Aria2Status.json(Self.running, keys: ["gid", "odd"]) == ["gid": "4179b061e0c0e0d0"])
    }

    @Test func anUnknownLengthIsZero() {
        let status = Aria2Status.json(["id": 1, "state": "running", "bytesReceived": 9, "bytesExpected": -1])
        #expect(status["totalLength"] == "0" && status["numPieces"] == "0")
        #expect(status["connections"] == "1" && status["files"]?.arrayValue?.first?["path"] == "")
    }

    @Test(
        arguments: [
            "http://a/b": "b", "http://a/": "", "http://a": "", "http://a/b/?c/d": "", "http://a/%2e%2e": "%2e%2e",
            "http://a/b%2Fc": "b%2Fc", "http://a/%C3%A4": "ä", "http://a/%f": "%f", "": "", "http://a/b#c/d": "b",
        ])
    func guessesTheName(url: String, name: String) { #expect(Aria2Path.guess(url) == name) }

    @Test func tellsWhereTheFileIs() {
        #expect(
            Aria2Path(of: ["file": "/e/f (1)", "destination": ["path": "/e/f"]]) == Aria2Path(of: ["file": "/e/f (1)"]))
        #expect(Aria2Path(of: ["destination": ["directory": "/", "filename": "f"]]).path == "/f")
        #expect(Aria2Path(of: ["destination": ["path": "/f"]]).folder == "/")
    }
}
