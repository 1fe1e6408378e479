package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/robotswatch/robotswatch/agents"
	"github.com/robotswatch/robotswatch/diff"
	"github.com/robotswatch/robotswatch/watcher"
)

const (
	agentBlockers = 15 // sites on an agent's page
	agentMoves    = 15 // movements on it
	agentChanges  = 60 // changes looked through for those
)

type agentsPage struct {
	Lede, Heading, Tag string
	Groups, Orders     []option
	Rows               []agentLine
}

type agentLine struct {
	agentEntry
	Share          share
	Blocked, Named string
}

func (s *Server) agentsPage(r *http.Request) (view, error) {
	q := r.URL.Query()
	group := q.Get("group")
	if group == "" {
		group = agents.GroupAI
	}
	if !slices.Contains(agents.Groups(), group) {
		return view{}, badRequest("There is no such group; there are " + strings.Join(agents.Groups(), ", ") + ".")
	}
	entries, err := s.agentEntries(r.Context(), group, q.Get("tag"))
	if err != nil {
		return view{}, err
	}
	live, err := s.tallyNow(r.Context(), q.Get("tag"))
	if err != nil {
		return view{}, err
	}
	p := agentsPage{Heading: fmt.Sprintf("%d crawlers", len(entries)), Tag: q.Get("tag"),
		Lede:   "What the catalogue knows of each, and how many sites block it. Version " + s.deps.Judge.Settings().Catalogue.Version + ".",
		Groups: options(group, "@ai", "AI", "@training", "training", "@search", "AI search", "@assistant", "assistants", "@all", "all"),
		Orders: options(q.Get("order"), "", "most blocked first", "name", "name", "operator", "operator"),
	}
	for _, e := range entries {
		line := agentLine{agentEntry: e}
		c := live.of(e.Token)
		line.Watched = e.Watched || e.Sites != nil
		line.Share, line.Blocked = shareOf(c), percent(c.level(iBlocked), c.total())
		line.Named = percent(c[iBlocked][iNamed], c.level(iBlocked))
		p.Rows = append(p.Rows, line)
	}
	slices.SortStableFunc(p.Rows, func(a, b agentLine) int {
		switch q.Get("order") {
		case "name":
			return cmp.Compare(lower(a.Token), lower(b.Token))
		case "operator":
			return cmp.Or(cmp.Compare(lower(a.Operator), lower(b.Operator)), cmp.Compare(lower(a.Token), lower(b.Token)))
		}
		return cmp.Compare(live.of(b.Token).level(iBlocked), live.of(a.Token).level(iBlocked))
	})
	return view{Name: "agents", Title: "Crawlers", Section: "/agents", Data: p}, nil
}

type agentPage struct {
	Token, Lede    string
	Known, Watched bool
	Entry          agents.Agent
	Cards          []card
	Trend          trend
	Blockers       []siteRow
	All            string
	Moves          []movedSite
}

// movedSite is a site that changed its mind about an agent.
type movedSite struct {
	ID, What, Site string
	At             time.Time
}

func (s *Server) agentPage(r *http.Request) (view, error) {
	token := r.PathValue("token")
	if err := agents.CheckToken(token); err != nil {
		return view{}, notFound("There is no crawler of that name: " + err.Error() + ".")
	}
	p := agentPage{Token: token}
	if p.Entry, p.Known = s.deps.Judge.Settings().Catalogue.Lookup(token); p.Known {
		p.Token = p.Entry.Token
	} else {
		p.Lede = "The catalogue does not know this crawler."
	}
	days, err := s.allDays(r.Context(), "")
	if err != nil {
		return view{}, err
	}
	now := days[len(days)-1].tally
	_, p.Watched = now.Agents[lower(p.Token)]
	if p.Watched {
		if err := s.agentNumbers(r, &p, days); err != nil {
			return view{}, err
		}
	}
	return view{Name: "agent", Title: p.Token, Section: "/agents", Chart: p.Watched, Feed: "?agent=" + url.QueryEscape(p.Token), Data: p}, nil
}

func (s *Server) agentNumbers(r *http.Request, p *agentPage, days []dayTally) error {
	now := days[len(days)-1].tally
	c := now.of(p.Token)
	if p.Lede == "" {
		block := "block"
		if c.level(iBlocked) == 1 {
			block = "blocks"
		}
		p.Lede = fmt.Sprintf("%s of %s %s it, %s of those by name.", number(c.level(iBlocked)), plural(c.total(), "site"), block, percent(c[iBlocked][iNamed], c.level(iBlocked)))
	}
	week, month := daysAgo(days, 7), daysAgo(days, 30)
	link := func(l diff.Level) string {
		return s.prefix + "/sites?" + url.Values{"agent": {p.Token}, "access": {string(l)}}.Encode()
	}
	for _, x := range []struct {
		label string
		level int
	}{{"Blocked", iBlocked}, {"Restricted", iRestricted}, {"Partial", iPartial}, {"Allowed", iAllowed}} {
		of := func(t *tally) int { return t.of(p.Token).level(x.level) }
		p.Cards = append(p.Cards, card{x.label, percent(of(now), c.total()), plural(of(now), "site"), link(levels()[x.level]), movement(of, now, week, month)})
	}
	p.All = link(diff.Blocked)
	p.Trend = trend{Caption: "Share of the sites that answered which block " + p.Token + ", in per cent, by who decides.", Unit: "%",
		Series: []string{"by name", "inherited from *", "by the HTTP answer"}}
	p.Trend.fill(days, func(d dayTally) []string {
		b := d.of(p.Token)[iBlocked]
		return []string{share100(b[iNamed], d.answered()), share100(b[iInherited], d.answered()), share100(b[iStatus], d.Sites)}
	}, blocking(p.Token), "sites block")
	page, err := s.deps.Store.SitePage(r.Context(), watcher.SiteFilter{Agent: p.Token, Access: diff.Blocked, Limit: agentBlockers})
	if err != nil {
		return err
	}
	if p.Blockers, err = s.siteRows(r, page.Sites, p.Token); err != nil {
		return err
	}
	p.Moves, err = s.moves(r.Context(), p.Token)
	return err
}

// moves lists the latest blocks of an agent and their reversals.
func (s *Server) moves(ctx context.Context, token string) ([]movedSite, error) {
	changes, err := s.latest(ctx, watcher.ChangeFilter{Agent: token, Kinds: []watcher.Kind{watcher.KindAccess}, Limit: agentChanges})
	if err != nil {
		return nil, err
	}
	var out []movedSite
	for _, c := range changes {
		for _, a := range c.Agents {
			if !strings.EqualFold(a.Agent, token) || len(out) == agentMoves {
				continue
			}
			was, is := a.Before.Level == diff.Blocked, a.After.Level == diff.Blocked
			switch {
			case is && !was:
				out = append(out, movedSite{c.ID, "Blocked", c.Site, c.At})
			case was && !is:
				out = append(out, movedSite{c.ID, "No longer blocked", c.Site, c.At})
			}
		}
	}
	return out, nil
}
