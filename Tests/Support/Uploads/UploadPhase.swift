/// What a request is for, whatever its protocol calls that.
package enum UploadPhase: Sendable, CaseIterable {
    /// OPTIONS: what the server can do.
    case capabilities
    /// Makes the upload resource, without content.
    case creation
    /// Asks how much is there.
    case query
    /// Brings content.
    case append
    /// Puts parts together.
    case completion
    /// Ends the upload before it is whole.
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

    /// How an answer says that so many bytes are there.
    package func claim(_ offset: Int) -> (String, String) { ("Upload-Offset", "\(offset)") }
}

extension DraftRules {
    package func phase(of request: UploadServer.Record) -> UploadPhase {
        switch request.method {
        case "OPTIONS": .capabilities
        case "HEAD": .query
        case "DELETE": .termination
        // An optimistic creation brings all of it.
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
