import Testing
import TransferModel
import TransferRPC

struct WireCodingTests {
    private func refusal<M: RPCMethod>(_ method: M, _ text: String) throws -> TransferError {
        try #require(throws: TransferError.self) { try JSONCoding.decode(M.Parameters.self, from: Array(text.utf8)) }
    }

    @Test func everyMethodRefusesUnknownParametersByName() throws {
        for method in Methods.all { try check(method) }
    }

    private func check<M: RPCMethod>(_ method: M) throws {
        let error = try refusal(method, "{\"nonsense\": 1}")
        #expect(error.code == .unknownField, "\(method.name)")
        #expect(error.details["field"] == "nonsense", "\(method.name)")
    }

    @Test func namesTheFieldWithItsPath() throws {
        let text = """
            {"tasks": [{"url": "https://example.org"}, {"url": "https://example.org", "checksum": \
            {"algorithm": "sha-256", "value": "00", "salt": 1}}]}
            """
        let error = try refusal(Methods.addTasks, text)
        #expect(error.code == .unknownField)
        #expect(error.details["field"] == "tasks[1].checksum.salt")
    }

    @Test(arguments: [
        ("{\"tasks\": [{\"url\": 5}]}", "tasks[0].url"),
        ("{\"tasks\": [{\"priority\": \"urgent\"}]}", "tasks[0].priority"),
        ("{\"tasks\": [{\"priority\": 2}]}", "tasks[0].priority"),
        ("{\"tasks\": [{\"headers\": [[\"a\"]]}]}", "tasks[0].headers[0]"),
        ("{\"tasks\": [{\"deadlineAt\": \"tomorrow\"}]}", "tasks[0].deadlineAt"), ("{\"tasks\": 3}", "tasks"),
        ("{\"tasks\": [{\"kind\": \"torrent\"}]}", "tasks[0].kind"),
    ])
    func namesABadField(_ text: String, _ path: String) throws {
        let error = try refusal(Methods.addTasks, text)
        #expect(error.code == .badField)
        #expect(error.details["field"] == .string(path))
    }

    @Test(arguments: ["1e400", "-1e400", "1.5", "99999999999999999999", "1e30"])
    func namesANumberThatDoesNotFit(_ number: String) throws {
        func check<M: RPCMethod>(_ method: M, _ text: String, _ field: String) throws {
            let error = try refusal(method, text)
            #expect(error.code == .badField && error.details["field"] == .string(field), "\(text): \(error)")
            #expect(error.message.hasPrefix("\(field): a number that is too large"), "\(text): \(error)")
        }
        try check(Methods.getTask, "{\"id\":\(number)}", "id")
        try check(Methods.pauseTasks, "{\"ids\":[1,2,\(number)]}", "ids[2]")
        try check(Methods.listTasks, "{\"match\":\"a\",\"limit\":\(number),\"order\":\"newest\"}", "limit")
        try check(Methods.readBody, "{\"id\":1,\"offset\":\(number)}", "offset")
    }

    @Test func namesATextThatIsNone() throws {
        let error = try refusal(Methods.listTasks, "{\"match\":\"\\ud800\"}")
        #expect(error.code == .badField && error.details["field"] == "match", "\(error)")
    }

    @Test func namesAMissingField() throws {
        let error = try refusal(Methods.addTasks, "{}")
        #expect(error.code == .badField)
        #expect(error.message == "tasks: missing; it is required.")
        #expect(error.details["field"] == "tasks")
    }

    @Test func readsOwnersAndPlaces() throws {
        let everyone = try JSONCoding.decode(ListTasks.self, from: Array("{\"owner\":\"*\"}".utf8))
        #expect(everyone.owner == .everyone)
        let one = try JSONCoding.decode(ListTasks.self, from: Array("{\"owner\":5}".utf8))
        #expect(one.owner == .user(UserID(5)))
        #expect(try refusal(Methods.listTasks, "{\"owner\":\"root\"}").code == .badField)
        for (text, place) in [("\"start\"", EventPosition.start), ("\"now\"", .now), ("9", .after(SequenceNumber(9)))] {
            let parameters = try JSONCoding.decode(Subscribe.self, from: Array("{\"after\":\(text)}".utf8))
            #expect(parameters.after == place)
        }
        #expect(try refusal(Methods.subscribe, "{\"after\":-1}").details["field"] == "after")
        #expect(try refusal(Methods.subscribe, "{\"after\":\"later\"}").details["field"] == "after")
    }

    @Test func readsPositions() throws {
        for (text, place) in [("\"first\"", QueuePosition.first), ("\"last\"", .last), ("2.5", .at(2.5))] {
            let update = try JSONCoding.decode(UpdateTask.self, from: Array("{\"id\":1,\"position\":\(text)}".utf8))
            #expect(update.position == place)
        }
    }

    @Test func clientsPassOverWhatTheyDoNotKnow() throws {
        let text = "{\"tasks\":[{\"id\":1,\"state\":\"queued\",\"new\":1}],\"more\":true}"
        let result = try JSONCoding.decode(AddedTasks.self, from: Array(text.utf8), lenient: true)
        #expect(result.tasks == [.init(id: TaskID(1), state: .queued)])
    }

    @Test func clientsKeepTheNameOfAnUnknownCause() {
        let text =
            "{\"code\":-32000,\"message\":\"Full moon.\",\"data\":{\"code\":\"moon.full\",\"retryable\":true,\"details\":{\"a\":1}}}"
        let error = TransferError(answer: Array(text.utf8))
        #expect(error.code == .internal && error.retryable && error.message == "Full moon.")
        #expect(error.details == ["code": "moon.full", "a": 1])
    }
}
