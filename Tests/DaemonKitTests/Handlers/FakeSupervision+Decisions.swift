import TransferModel
import TransferRPC

@testable import DaemonKit

extension FakeSupervision: DecisionServing {
    func list(
        owner: UserID?, sessions: [String]?, tasks: [TaskID]?, for peer: Peer
    ) async throws -> (decisions: [DecisionView], isCut: Bool) {
        noteListed(sessions)
        return ([], false)
    }

    func answer(_ parameters: AnswerDecision, by peer: Peer) async throws -> AnsweredDecision {
        throw TransferError.gone(parameters.id)
    }
}
