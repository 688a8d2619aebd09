import TestSupport
import Testing
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit
@testable import FileKit

@Suite struct TaskPoliciesTests {
    /// Behind a proxy, the host itself need not be reachable, whoever set the proxy.
    @Test(
        arguments: [
            (nil, nil, nil, true), ("http://p:1", nil, nil, false), (nil, "http://p:1", nil, false),
            (nil, nil, "http://p:1", false), ("none", "http://p:1", "http://p:1", true),
            (nil, "none", "http://p:1", true), ("http://p:1", "none", nil, false),
        ] as [(String?, String?, String?, Bool)])
    func aProxyStandsBetween(task: String?, session: String?, settings: String?, isDirect: Bool) async throws {
        let fixture = try SupervisionFixture()
        let home = try ConfigurationFixture()
        if let settings { try home.write("session:\n  proxy: \(settings)\n", to: home.userFile) }
        let configured = try home.loader.load()
        let policies = TaskPolicies(configuration: { configured })
        var record = try await fixture.add(hosts: ["192.0.2.1"])[0]
        record.spec.proxy = task
        var configuration = SessionConfiguration()
        configuration.proxy = session
        let known = SessionRecord(key: fixture.key, configuration: configuration, createdAt: record.status.createdAt)
        #expect(policies.directHost(of: record, in: known) == (isDirect ? "192.0.2.1" : nil))
    }
}
