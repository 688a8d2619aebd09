import Testing
import TransferModel

@testable import dlctl

struct UploadPlanTests {
    private func plan(_ files: [String], _ url: String, _ name: String? = nil) -> UploadPlan {
        var plan = UploadPlan(files: files, url: url, currentFolder: "/home/me")
        plan.template.uploadProtocol = name
        return plan
    }

    private func urls(_ plan: UploadPlan) throws -> [String?] { try plan.specs().map(\.url) }

    @Test func pathsBecomeAbsoluteAndTheURLStays() throws {
        let specs = try plan(["a/b c"], "https://example.org/up").specs()
        #expect(specs.map(\.kind) == [.upload])
        #expect(specs.map { $0.source?.path } == ["/home/me/a/b c"])
        #expect(specs.map(\.url) == ["https://example.org/up"])
    }

    @Test func aFolderKeepsNames() throws {
        #expect(try urls(plan(["a b", "/x/ü"], "https://h/d/", "put")) == ["https://h/d/a%20b", "https://h/d/%C3%BC"])
        var posted = plan(["a"], "https://h/d/")
        posted.template.method = "PUT"
        #expect(try urls(posted) == ["https://h/d/a"])
        #expect(try urls(plan(["a"], "sftp://h/d/")) == ["sftp://h/d/a"])
        #expect(try urls(plan(["a"], "https://h/d/", "put")) == ["https://h/d/a"])
    }

    @Test func servicesThatNameUploadsThemselvesGetTheirURL() throws {
        for name in ["tus", "resumable", "post", "multipart"] {
            #expect(try urls(plan(["a", "b"], "https://h/d/", name)) == ["https://h/d/", "https://h/d/"])
        }
    }

    @Test func whetherItIsAFolderTheDaemonAsks() throws {
        for name in [nil, "auto"] {
            #expect(try urls(plan(["a", "b"], "https://h/d/", name)) == ["https://h/d/", "https://h/d/"])
        }
    }

    @Test func oneObjectAndOneNameAreForOneFile() throws {
        var several = plan(["a", "b"], "https://h/d/")
        several.template.fileName = "x"
        #expect(throws: CommandFailure.self) { try several.specs() }
        several.template.fileName = nil
        several.template.s3 = S3Upload(partURLs: [], partSize: 1, completeURL: "")
        #expect(throws: CommandFailure.self) { try several.specs() }
    }

    @Test(arguments: [
        (["-"], "https://h/", "standard input"), (["a/"], "https://h/", "not a file"), (["a"], "h/x", "not a URL"),
        (["a", "b"], "https://h/x", "would all become"), ([], "https://h/", "FILE"),
    ])
    func whatMeansNothingIsRefusedWithAReason(files: [String], url: String, reason: String) throws {
        let failure = try #require(throws: CommandFailure.self) { try plan(files, url).specs() }
        #expect(failure.status == .usage)
        #expect(failure.message?.contains(reason) == true)
    }

    @Test func tokensAreNumberedWhereThereAreSeveral() throws {
        var several = plan(["a", "b"], "https://h/")
        several.clientToken = "t"
        #expect(try several.specs().map(\.clientToken) == ["t/1", "t/2"])
        several.files = ["a"]
        #expect(try several.specs().map(\.clientToken) == ["t"])
    }

    @Test func pairsHaveANameAndAnEqualsSign() {
        #expect(Assignment("a=b=c").map { [$0.name, $0.value] } == ["a", "b=c"])
        #expect(Assignment("a=").map { [$0.name, $0.value] } == ["a", ""])
        #expect(Assignment("=b") == nil)
        #expect(Assignment("ab") == nil)
    }
}
