/// The purpose of a request, whatever its protocol calls it.
package enum UploadPhase: Sendable, CaseIterable {
    /// OPTIONS: asks what the server supports.
    case capabilities
    /// Creates the upload resource, without content.
    case creation
    /// Asks how much the server has.
    case query
    /// Sends content.
    case append
    /// Joins the parts.
    case completion
    /// Ends the upload before it is complete.
    case termination
}

extension UploadRules {
    package func phase(of request: UploadServer.Record) -> UploadPhase {
        switch request.method {
        case "OPTIONS": .capabilities
        case "POST": .creation
        case "HEAD": .query
        case "DELETE": .termination
        default: .append
        }
    }

    /// The field with which an answer claims to have `offset` bytes.
    package func claim(_ offset: Int) -> (String, String) { ("Upload-Offset", "\(offset)") }
}

extension DraftRules {
    package func phase(of request: UploadServer.Record) -> UploadPhase {
        switch request.method {
        case "OPTIONS": .capabilities
        case "HEAD": .query
        case "DELETE": .termination
        // An optimistic creation sends all content.
        case "POST": request.header("Content-Length") ?? "0" == "0" ? .creation : .append
        default: .append
        }
    }
}

extension ContentRangeRules {
    package func phase(of request: UploadServer.Record) -> UploadPhase {
        switch request.method {
        case "POST": .creation
        case "DELETE": .termination
        default: request.header("Content-Range")?.hasPrefix("bytes */") == true ? .query : .append
        }
    }

    package func claim(_ offset: Int) -> (String, String) { ("Range", "bytes=0-\(offset - 1)") }
}

extension PartRules {
    package func phase(of request: UploadServer.Record) -> UploadPhase {
        request.method == "POST" ? .completion : .append
    }
}

extension PlainRules {
    package func phase(of request: UploadServer.Record) -> UploadPhase {
        request.method == "OPTIONS" ? .capabilities : .append
    }
}
