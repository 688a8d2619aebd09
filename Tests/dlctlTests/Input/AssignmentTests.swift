import Testing
import TransferModel

@testable import dlctl

@Suite struct AssignmentTests {
    private func value(_ text: String, _ form: Assignment.Form) throws -> JSONValue {
        try #require(Assignment(text)).parsed(as: form)
    }

    @Test func readsEachForm() throws {
        #expect(try value("a=5", .count) == 5)
        #expect(try value("a=2M", .rate) == .integer(2 << 20))
        #expect(try value("a=none", .rate) == 0)
        #expect(try value("a=1.5G", .bytes) == .integer(3 << 29))
        #expect(try value("a=5m", .seconds) == 300)
        #expect(try value("a=0.5", .seconds) == 0.5)
        #expect(try value("a=yes", .flag) == true)
        #expect(try value("a=off", .flag) == false)
        #expect(try value("a=b=c", .text) == "b=c")
        #expect(try value("a=x", .words(["x", "y"])) == "x")
        #expect(try value("a=[{\"from\":\"01:00\"}]", .json) == [["from": "01:00"]])
    }

    /// A recursive reader would crash the process with some of these.
    @Test func textThatIsNestedDeeplyIsNoValue() {
        #expect(JSONText.value(String(repeating: "[", count: 512)) == nil)
        #expect(JSONText.value("[[[]]]") == [[[]]])
    }

    @Test func defaultRemoves() throws {
        for form in [Assignment.Form.count, .rate, .text, .json, .flag] {
            #expect(try value("a=default", form) == .null)
        }
    }

    @Test(arguments: [
        ("a=x", Assignment.Form.count), ("a=-1", .count), ("a=fast", .rate), ("a=soon", .seconds), ("a=maybe", .flag),
        ("a=z", .words(["x"])), ("a={", .json),
    ])
    func wrongValuesSayWhatIsTaken(text: String, form: Assignment.Form) throws {
        let assignment = try #require(Assignment(text))
        #expect(throws: CommandFailure.self) { try assignment.parsed(as: form) }
    }

    @Test(arguments: ["", "a", "=b"]) func othersAreNoAssignments(text: String) {
        #expect(Assignment(text) == nil)
    }

    @Test func settingsAreShownAsPeopleReadThem() {
        #expect(SettingName.downloadRateLimit.form.text(.integer(2 << 20)) == "2.0 MiB/s")
        #expect(SettingName.downloadRateLimit.form.text(0) == "none")
        #expect(SettingName.progressInterval.form.text(0.5) == "0.5s")
        #expect(SettingName.historyRetention.form.text(2_592_000) == "30d 0h")
        #expect(SettingName.maximumConcurrentTasks.form.text(32) == "32")
    }

    @Test func listsAreWordsOrJSON() throws {
        func list(_ text: String) throws -> JSONValue? { try Assignment("asks=" + text)?.parsed(as: .list) }
        #expect(try list("challenge") == ["challenge"])
        #expect(try list("challenge,redirect") == ["challenge", "redirect"])
        #expect(try list("[\"challenge\"]") == ["challenge"])
        #expect(try list("[]") == [])
        #expect(try list("default") == .null)
        for wrong in ["", ",", "a,", "[challenge", "a b"] { #expect(throws: CommandFailure.self) { try list(wrong) } }
    }

    /// dlctl opens sessions of the kind that has no cache.
    @Test(arguments: ["urlCache={\"memoryCapacity\":1}", "requestCachePolicy=returnCacheDataElseLoad"])
    func settingsOfACacheAreRefused(word: String) throws {
        let session = CommandSession(try GlobalOptions.parse([]), environment: ["HOME": "/home/u"])
        #expect {
            try SessionConfiguration.change([word], session)
        } throws: { error in
            (error as? CommandFailure)?.message?.contains("have a cache") == true
        }
        let unset = String(word.prefix { $0 != "=" }) + "=default"
        #expect(try SessionConfiguration.change([unset], session).cleared.count == 1)
    }

    @Test func onlyWhatIsSaidIsSent() throws {
        let session = CommandSession(try GlobalOptions.parse([]), environment: ["HOME": "/home/u"])
        let change = try SessionConfiguration.change(
            [
                "downloadRateLimit=1M", "proxy=default", "directory=~/Pods", "tlsMinimumVersion=1.2",
                "launchInterval=5m",
            ],
            session)
        #expect(change.downloadRateLimit == ByteRate(1 << 20))
        #expect(change.cleared == ["proxy"])
        #expect(change.directory == "/home/u/Pods")
        #expect(change.tlsMinimumVersion == .v12)
        #expect(change.launchInterval == 300)
        #expect(change.maximumConcurrentTasks == nil)
    }

    @Test(arguments: ["nope=1", "directory", "schedule=[{\"from\":\"1\",\"x\":2}]"])
    func unknownSessionSettingsAreRefused(word: String) throws {
        let session = CommandSession(try GlobalOptions.parse([]), environment: [:])
        #expect(throws: CommandFailure.self) { try SessionConfiguration.change([word], session) }
    }
}
