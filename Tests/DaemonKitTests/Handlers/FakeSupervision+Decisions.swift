import TransferModel
import TransferRPC

@testable import DaemonKit

extension FakeSupervision: DecisionServing {
    func list(
        owner: UserID?, session: String?, tasks: [TaskID]?
    ) async throws -> (decisions: [DecisionView], isCut: Bool) { ([], false) }

    func answer(_ parameters: AnswerDecision.Parameters, by peer: Peer) async throws -> AnswerDecision.Result {
        throw TransferError.gone(parameters.id)
    }
}
