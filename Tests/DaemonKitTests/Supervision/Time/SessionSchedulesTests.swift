import Testing
import TransferModel

@testable import DaemonKit

struct SessionSchedulesTests {
    @Test func sessionsThatAreOverAreForgotten() {
        let schedules = SessionSchedules()
        let windows = [ScheduleWindow(begin: "01:00", end: "02:00")]
        for number in 0...SessionSchedules.most {
            #expect(schedules.windows(of: SessionKey(owner: .root, identifier: "\(number)"), windows) != nil)
        }
        #expect(schedules.count <= SessionSchedules.most)
    }
}
