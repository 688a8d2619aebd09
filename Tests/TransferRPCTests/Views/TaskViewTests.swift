import Testing
import TransferModel
import TransferRPC

struct TaskViewTests {
    @Test func carriesNoSecret() throws {
        let text = String(decoding: JSONCoding.encode(Samples.taskView), as: UTF8.self)
        #expect(!text.contains("s3cret"))
        #expect(text.contains("https://example.org/f?a=1") && text.contains("http://proxy:3128"))
        #expect(text.contains("[\"Accept\",\"*/*\"]") && text.contains("[\"Authorization\",\"***\"]"))
        #expect(Samples.taskView.spec.username == "user")
    }

    @Test(arguments: [
        ("X-Amz-Server-Side-Encryption-Customer-Key", true), ("x-goog-encryption-key", true), ("DPoP", true),
        ("Ocp-Apim-Subscription-Key", true), ("Authentication", true), ("X-Session", true), ("X-Sig", true),
        ("Set-Cookie2", true), ("X-Cookie", true), ("X-Auth", true), ("X-OTP", true), ("X-Pass", true),
        ("Ticket", true),
        ("Cf-Access-Jwt-Assertion", true), ("X-Amzn-Oidc-Data", true), ("Proxy-Authentication-Info", true),
        ("Accept", false), ("X-Key-Id", false), ("ETag", false), ("Session-Type", false), ("X-Author", false),
        ("WWW-Authenticate", false),
    ])
    func fieldsThatGiveAKeyAreMasked(name: String, isSecret: Bool) {
        #expect((HeaderField(name, "v").masked.value == HeaderField.mask) == isSecret)
    }

    /// Whatever the field is called.
    @Test(arguments: [
        ("Bearer aB3-._~+/==", "Bearer ***"), ("basic  dTpw", "basic ***"), ("Negotiate YII=", "Negotiate ***"),
        ("Basic realm=\"r\"", "Basic realm=\"r\""), ("Negotiate", "Negotiate"),
        ("Basic training is hard", "Basic training is hard"),
        ("bearer of news, and more", "bearer of news, and more"), ("http://u:p@h/?a=1", "http://h/?a=1"),
        ("//u:p@h/", "//h/"), ("a@b", "a@b"), ("http://a/ <http://u:p@h/>", "http://a/ <http://h/>"),
        ("Bot (+https://example.com; ops@corp.org)", "Bot (+https://example.com; ops@corp.org)"),
        ("Bearer ", "Bearer "),
    ])
    func valuesThatAreCredentialsAreMasked(value: String, shown: String) {
        #expect(HeaderField("X-Foo", value).maskedWithValue.value == shown)
    }

    @Test func isOneObjectWithSpecAndStatus() throws {
        let value = try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(Samples.taskView), lenient: true)
        #expect(
            value["description"] == "a file" && value["id"] == 7 && value["session"] == "work" && value["owner"] == 1000
        )
        #expect(value["error"]?["code"] == "http.status" && value["createdAt"] == "2023-11-14T22:13:20.123Z")
    }

    @Test func unknownLengthsAreMinusOne() {
        var record = Samples.record
        record.response = nil
        record.result = nil
        let view = TaskView(record)
        #expect(view.bytesExpected == -1 && view.bytesReceived == 0 && view.phase == nil && view.rate == 0)
    }

    @Test func anUploadCountsWhatTheServerHasThenWhatIsSentThenAll() {
        var record = Samples.record
        record.result = nil
        record.spec.kind = .upload
        record.source = SourceIdentity(device: 1, inode: 2, size: 100, modified: 3)
        record.status = TaskStatus(state: .paused, createdAt: record.status.createdAt)
        record.upload = UploadProgress(
            uploadProtocol: .tus, offset: 40, source: record.source, createdAt: record.status.createdAt)
        let stored = TaskView(record)
        #expect(stored.bytesSent == 40 && stored.bytesToSend == 100 && stored.bytesExpected == -1)
        let live = LiveFigures(
            phase: .transferring, bytesReceived: 0, bytesExpected: -1, rate: 5, bytesSent: 70, bytesToSend: 130)
        let running = TaskView(record, live: live)
        #expect(running.bytesSent == 70 && running.bytesToSend == 130)
        record.upload = nil
        record.status.state = .completed
        #expect(TaskView(record).bytesSent == 100)
    }

    @Test func takesOffsetsFromTheCheckpointThenFromMemory() {
        var record = Samples.record
        record.result = nil
        record.status.state = .running
        record.checkpoint = Checkpoint(offset: 100, total: 1000, partPath: "/p", device: 1, inode: 2)
        let stored = TaskView(record)
        #expect(stored.bytesReceived == 100 && stored.bytesExpected == 1000 && stored.phase == .connecting)
        let live = LiveFigures(
            phase: .transferring, bytesReceived: 500, bytesExpected: -1, rate: 50, eta: 10, resumedFrom: 100)
        let view = TaskView(record, live: live)
        #expect(view.bytesReceived == 500 && view.bytesExpected == 1000 && view.phase == .transferring)
        #expect(view.rate == 50 && view.eta == 10 && view.resumedFrom == 100)
    }

    @Test(arguments: [
        ("https://u:p@h/x", "https://h/x"), ("https://u@h", "https://h"), ("ftp://a@b@h/x@y", "ftp://h/x@y"),
        ("https://h/x@y", "https://h/x@y"), ("https://h?u=a@b", "https://h?u=a@b"), ("none", "none"),
        ("data:,a@b", "data:,a@b"),
    ])
    func removesUserInfo(_ url: String, _ expected: String) {
        var spec = TaskSpec()
        spec.url = url
        #expect(spec.withoutSecrets.url == expected)
    }

    @Test func sessionsCarryNoSecretEither() throws {
        var configuration = SessionConfiguration()
        configuration.proxy = "http://u:s3cret@p"
        configuration.httpAdditionalHeaders = [HeaderField("Authorization", "s3cret")]
        var certificate = ClientCertificate(certificate: "/c")
        certificate.password = "s3cret"
        configuration.clientCertificate = certificate
        let record = SessionRecord(key: Samples.key, configuration: configuration, createdAt: Samples.time)
        let view = SessionView(record, tasks: [:], unacknowledgedEvents: 0)
        #expect(!String(decoding: JSONCoding.encode(view), as: UTF8.self).contains("s3cret"))
        #expect(view.tasks.count == TaskState.allCases.count)
    }
}
