import Testing

@testable import DaemonSetup

@Suite struct GroupMembershipTests {
    /// A user with many groups, or a group with many members, needs a larger buffer than the first one.
    @Test func roomGrowsWithWhatTheSystemKnows() {
        #expect(GroupMembership.holds(of: 0, primary: .max, in: "root", entry: 1, groups: 0))
        #expect(!GroupMembership.holds(of: 0, primary: .max, in: "no-such-group", entry: 1, groups: 0))
        #expect(GroupMembership.holds(of: 4_000_000_000, primary: 0, in: "root", entry: 1))
        #expect(!GroupMembership.holds(of: 4_000_000_000, primary: .max, in: "root"))
    }
}
